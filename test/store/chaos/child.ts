/**
 * The child that gets killed. It opens the store, acquires its shard and changes timers as fast as it can, with many
 * calls at once, until it is killed. Calls in flight never share a key, so each can be judged alone. With `early-ack`
 * it reports calls as acknowledged before they are: the parent must notice.
 *
 * With a number of turns it ends after them. Then it also compacts, backs up and raises its epoch, and uses small
 * sizes so that buckets are rewritten often. This is the workload of `npm run chaos -- power`.
 */
import { writeSync } from 'node:fs'
import process from 'node:process'
import { FileStore, type Operation, type Settlement, type Store } from 'carillon/store'
import { Random } from 'carillon/testing'
import { acquireShard } from './acquire-shard.js'
import type { Change, ReportLine, RowState } from './report.js'

const KEYS = 3000
const CALLS_AT_ONCE = 12
const NAMESPACE = 'chaos'
const KIND = 'timer'

type Row = Awaited<ReturnType<Store['find']>>[number] & object

const [folder = '', round = '1', seed = '1', plant = '', turns = ''] = process.argv.slice(2)
const isPower = turns !== ''
const SMALL = { segmentRows: 256, heavyRows: 200, litterBytes: 512, manyChunks: 4 }
const random = new Random(Number(seed) * 1000 + Number(round))
const live = new Map<string, Row>()
const waitingRequests = new Map<string, { readonly key: string; readonly identity: number }>()
// Each child has its own range of numbers.
let lastCall = Number(round) * 1_000_000
let identities = 0

const from = performance.now()
const store = await FileStore.open(folder, isPower ? { tuning: SMALL } : {})
// The lease ends at once, so that nobody has to wait for it after the kill.
let { fence } = await acquireShard(store, `round-${round}`, Number(round) * 1000 + 1, 1)
let readLevel = (await store.shards())[0]!.readLevel
await readStore()
report({ type: 'ready', openMs: performance.now() - from, epoch: fence.epoch })
if (!isPower) for (;;) await turn()
for (let i = 0; i < Number(turns); i++) {
  await turn()
  await housekeeping(i)
}
// Every other child ends without a stop, as in a crash.
if (Number(round) % 2 === 0) await store.stop()
process.exit(0)

/** Sweeps, compacts and backs up, and raises the epoch, while no other call is in flight. */
async function housekeeping(at: number): Promise<void> {
  if (random.chance(0.5)) while ((await store.sweep(fence)).more);
  if (random.chance(0.1)) {
    const epoch = fence.epoch + 1
    await reported([{ to: 'epoch', epoch }], async () => {
      const row = await store.refence(fence, epoch * 7, 1)
      fence = { ...fence, epoch: row.epoch, nonce: row.nonce }
      return [0]
    })
  }
  if (random.chance(0.06)) await store.compact()
  if (!random.chance(0.06)) return
  const copy = `${folder}-copy-${round}-${at}`
  await store.backup(copy)
  report({ type: 'backed-up', folder: copy })
}

/** Makes some calls at once, on disjoint keys, and waits for all of them. */
async function turn(): Promise<void> {
  const busy = new Set<string>()
  const work: Promise<void>[] = []
  if (random.chance(0.5)) {
    const settle = await prepareSettlement(busy)
    work.push(settle())
  }
  for (let i = random.below(CALLS_AT_ONCE); i >= 0; i--) {
    if (random.chance(0.1)) work.push(requestSet())
    else work.push(writeSome(busy, 1 + random.below(random.chance(0.1) ? 400 : 12)))
  }
  await Promise.all(work)
  if (random.chance(0.05)) await store.sweep(fence)
}

async function writeSome(busy: Set<string>, size: number): Promise<void> {
  const operations: Operation[] = []
  const changes: Change[] = []
  const answered = [...waitingRequests].slice(0, random.below(4))
  for (const [request, { key, identity }] of answered) {
    waitingRequests.delete(request)
    busy.add(key)
    const set = setOf(key, identity)
    operations.push({ ...set, request })
    changes.push({ to: 'live', key, row: stateOf(set) }, { to: 'answered', request })
  }
  while (operations.length < size) {
    const key = `key-${random.below(KEYS)}`
    if (busy.has(key)) continue
    busy.add(key)
    const row = live.get(key)
    const what = random.fraction()
    if (row === undefined || what < 0.4) {
      const set = setOf(key, newIdentity())
      operations.push(set)
      changes.push({ to: 'live', key, row: stateOf(set) })
    } else if (what < 0.7) {
      const position = someTimeLater()
      operations.push({ type: 'move', namespace: NAMESPACE, kind: KIND, key, position, dueAt: position })
      changes.push({ to: 'live', key, row: { ...stateOf(row), position } })
    } else {
      operations.push({ type: 'cancel', namespace: NAMESPACE, kind: KIND, key })
      changes.push({ to: 'removed', key, how: 'cancelled' })
    }
  }
  await reported(changes, async () => {
    const { answers } = await store.write(fence, { operations })
    const revisions: number[] = []
    for (const [index, operation] of operations.entries()) {
      const answer = answers[index]!
      if (operation.type === 'answer') continue
      if (operation.type === 'set' && answer.outcome === 'set') {
        live.set(operation.key, { ...operation, ...answer.place })
        revisions.push(answer.place.revision)
        if (operation.request !== undefined) revisions.push(0)
      } else if (answer.outcome === 'moved') {
        live.set(operation.key, answer.row)
        revisions.push(answer.row.revision)
      } else if (answer.outcome === 'cancelled') {
        live.delete(operation.key)
        revisions.push(0)
      } else throw new Error(`${JSON.stringify(operation)} was answered ${JSON.stringify(answer)}`)
    }
    return revisions
  })
}

/** Appends a request to the inbox, as another process would. */
async function requestSet(): Promise<void> {
  const request = `request-${newIdentity()}`
  const key = `asked-${random.below(50)}-${request}`
  const identity = newIdentity()
  const { position: _, ...operation } = setOf(key, identity)
  await reported([{ to: 'requested', request }], async () => {
    await store.append([{ id: request, shard: 0, deadline: Date.now() + 3_600_000, operation }])
    waitingRequests.set(request, { key, identity })
    return [0]
  })
}

/**
 * Loads due rows and returns a function that settles them. Most are done, some are retried and some die. Some of the
 * dead ones go on with a next occurrence.
 */
async function prepareSettlement(busy: Set<string>): Promise<() => Promise<void>> {
  const now = Date.now()
  const request = { from: readLevel, untilExclusive: now, limit: 300, limitBytes: 1e9 }
  const loaded = await store.load(fence, request)
  readLevel = loaded.readLevel
  const due = [...live.values()].filter((row) => isBefore(row, readLevel) && row.position <= now)
  const level = { position: Math.min(readLevel.position, now), revision: 0 }
  const changes: Change[] = [{ to: 'level', ...level }]
  const followUps: Settlement['followUps'][number][] = []
  const dead: Settlement['dead'][number][] = []
  let settledCount = 0
  for (const row of due.filter((each) => isBefore(each, level))) {
    busy.add(row.key)
    const fate = random.weighted({ 'comes again': 30, 'dies and goes on': 7, dies: 6, ends: 57 })
    switch (fate) {
      case 'comes again': {
        const position = someTimeLater()
        const attempt = row.attempt + 1
        followUps.push({ row, position, dueAt: position, attempt, occurrence: row.occurrence })
        changes.push({ to: 'live', key: row.key, row: { ...stateOf(row), position, attempt } })
        break
      }
      case 'dies and goes on': {
        const position = someTimeLater()
        const next = { position, dueAt: position, attempt: 0, occurrence: row.occurrence + 1 }
        dead.push({ row, diedAt: now, reason: 'goes on', next })
        changes.push({ to: 'live', key: row.key, row: { ...stateOf(row), position, attempt: 0 } })
        break
      }
      case 'dies':
        dead.push({ row, diedAt: now, reason: 'chaos' })
        changes.push({ to: 'removed', key: row.key, how: 'dead' })
        break
      case 'ends':
        settledCount++
        changes.push({ to: 'removed', key: row.key, how: 'settled' })
    }
  }
  const settle = async (): Promise<number[]> => {
    const id = newIdentity()
    const settlement = { id, level, settledCount, followUps, dead, done: [], history: [] }
    const answer = await store.settle(fence, settlement)
    fence = { ...fence, settledLevel: level }
    for (const change of changes) if (change.to === 'removed') live.delete(change.key)
    for (const row of [...answer.followUps, ...answer.dead.map(({ next }) => next)]) {
      if (row !== undefined) live.set(row.key, row)
    }
    return changes.map((change) => (change.to === 'live' ? live.get(change.key)!.revision : 0))
  }
  return () => reported(changes, settle)
}

/** Makes a call, and reports it before it begins and after it is acknowledged. */
async function reported(changes: readonly Change[], call: () => Promise<number[]>): Promise<void> {
  const number = ++lastCall
  report({ type: 'begun', call: number, changes })
  if (plant === 'early-ack') report({ type: 'acknowledged', call: number, revisions: changes.map(() => 0) })
  const revisions = await call()
  if (plant === '') report({ type: 'acknowledged', call: number, revisions })
}

/** Reads the timers and requests that earlier children left. */
async function readStore(): Promise<void> {
  let cursor: string | undefined
  do {
    const page = await store.list({ namespace: NAMESPACE, limit: 1000, cursor })
    for (const row of page.items) live.set(row.key, row)
    cursor = page.cursor
  } while (cursor !== undefined)
  for (const { id, operation } of await store.requests(fence, 10_000)) {
    if (operation.type === 'set')
      waitingRequests.set(id, { key: operation.key, identity: operation.identity })
  }
}

function setOf(key: string, identity: number): Extract<Operation, { readonly type: 'set' }> {
  const position = someTimeLater()
  const payload = Buffer.from(`${key} of ${identity} `.repeat(1 + (identity % 7)))
  const content = {
    namespace: NAMESPACE,
    kind: KIND,
    key,
    identity,
    createdAt: Date.now(),
    payload,
    tags: [],
  }
  return { type: 'set', ...content, details: '', attempt: 0, occurrence: 0, dueAt: position, position }
}

function stateOf({
  identity,
  position,
  attempt,
  payload,
}: Omit<RowState, 'payload'> & { payload: Uint8Array }): RowState {
  return { identity, position, attempt, payload: Buffer.from(payload).toString('latin1') }
}

/** A due time that this child or a later one will reach, in most cases. */
function someTimeLater(): number {
  return Date.now() + 20 + random.below(random.chance(0.2) ? 86_400_000 : 2000)
}

function newIdentity(): number {
  return Number(round) * 10_000_000 + ++identities
}

function isBefore(
  a: { position: number; revision: number },
  b: { position: number; revision: number },
): boolean {
  return a.position < b.position || (a.position === b.position && a.revision < b.revision)
}

/** Returns when the parent's pipe has the whole line, so that the report survives the death of this process. */
function report(line: ReportLine): void {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(1, bytes, at)
    } catch (error) {
      // The pipe is full, because the parent is slower.
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    }
  }
}
