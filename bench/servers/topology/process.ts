/**
 * One process of the topology: it opens a candidate in a role and does what its parent asks, one thing at a time.
 */
import process from 'node:process'
import { type Row, rowOf } from '../subject.js'
import type { Command, ProcessTask, Reply, Single, TopologyModule, TopologySubject } from './task.js'

const HOUR_MS = 3_600_000

const task = JSON.parse(process.argv[2]!) as ProcessTask
const module = (await import(task.module)) as TopologyModule
const subject = await (module.openAs?.(task.role, task.url) ?? module.open!(task.url))
const seen = new Map<string, number>()

process.on('message', (command) => void answer(command as Command))
process.send!({ figures: {} } satisfies Reply)

async function answer(command: Command): Promise<void> {
  let reply: Reply
  try {
    const from = performance.now()
    const figures = await figuresOf(command)
    const { user, system } = process.cpuUsage()
    reply = { figures: { ms: performance.now() - from, at: Date.now(), cpuUs: user + system, ...figures } }
  } catch (error) {
    reply = { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
  process.send!(reply, () => {
    if (command.ask === 'stop') process.exit(0)
  })
}

async function figuresOf(command: Command): Promise<Readonly<Record<string, number>>> {
  switch (command.ask) {
    case 'add':
      return { ms: await addAll(subject, command) }
    case 'applied':
      await subject.applied?.()
      return {}
    case 'work':
      await subject.work((key) => void seen.set(key, (seen.get(key) ?? 0) + 1))
      return {}
    case 'settled': {
      await subject.settled(command.count)
      let repeats = 0
      for (const times of seen.values()) repeats += times - 1
      const fired = seen.size
      seen.clear()
      return { fired, repeats }
    }
    case 'single':
      return await callAll(command.what, command.n, command.callers)
    case 'cpu':
      return {}
    case 'stop':
      await subject.stop()
      return {}
  }
}

/** Adds rows in the batch size that suits the subject. Returns how long that took. Creating the rows is not timed. */
async function addAll(
  to: TopologySubject,
  { n, prefix, dueAt }: Extract<Command, { ask: 'add' }>,
): Promise<number> {
  const batches: Row[][] = []
  for (let i = 0; i < n; i += to.batch) {
    const count = Math.min(to.batch, n - i)
    batches.push(Array.from({ length: count }, (_, j) => rowOf(i + j, prefix, dueAt)))
  }
  const from = performance.now()
  await Promise.all(
    Array.from({ length: to.inFlight }, async () => {
      for (let rows = batches.shift(); rows !== undefined; rows = batches.shift()) await to.add(rows)
    }),
  )
  return performance.now() - from
}

/** `n` single calls by so many callers: each waits for its answer before its next call. */
async function callAll(what: Single, n: number, callers: number): Promise<Readonly<Record<string, number>>> {
  const dueAt = Date.now() + HOUR_MS
  const rows = Array.from({ length: n }, (_, i) => rowOf(i, `one-${callers}`, dueAt))
  const taken: number[] = []
  let next = 0
  const from = performance.now()
  await Promise.all(
    Array.from({ length: callers }, async () => {
      for (let row = rows[next++]; row !== undefined; row = rows[next++]) {
        const began = performance.now()
        if (what === 'set') await subject.setOne(row)
        else if (what === 'move') await subject.moveOne(row.key, dueAt + HOUR_MS)
        else await subject.cancelOne(row.key)
        taken.push(performance.now() - began)
      }
    }),
  )
  const ms = performance.now() - from
  taken.sort((a, b) => a - b)
  const at = (part: number): number => taken[Math.min(taken.length - 1, Math.floor(taken.length * part))]!
  return { ms, p50: at(0.5), p99: at(0.99) }
}
