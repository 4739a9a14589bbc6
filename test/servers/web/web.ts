/**
 * A web process: it opens the store of the workers and never starts. It sets, replaces, moves and cancels timers, also
 * with conditions, and reads them in every way. Its ledger is a file of its own: a line before and after each call. Its
 * parent gets the same lines, and sends commands on the standard input. The end of that input ends the process.
 */
import { openSync, writeSync } from 'node:fs'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { CarillonError, openTimers, type Timers } from 'carillon'
import { Random } from 'carillon/testing'
import { writeLine } from '../../write-line.js'
import { machineMs } from '../chaos/report.js'
import { Audit, countWithin } from './audit.js'
import { Caller, counted } from './caller.js'
import { exercise } from './exercise.js'
import { isDoubtful, Story } from './story.js'
import type { WebCommand, WebLine, WebTask } from './web-line.js'

/** How long an audit waits for the count of another process. */
const OTHERS_MS = 10_000
/** Between two stories of one line of stories. */
const PAUSE_MS = 100

const task = JSON.parse(process.argv[2]!) as WebTask
const file = openSync(task.file, 'a')
const random = new Random(task.seed)
const doubtful: string[] = []
const abandoned: string[] = []
const counting = new Map<number, () => void>()
const state = { isOn: true }
let versions = 0
let made = 0
let turns = 0

const timers = await patiently(() =>
  openTimers({ store: task.url as 'postgres://', engine: task.engine, logger: false }),
)
const caller = new Caller(timers, tell, task.longestMs)
tell({ say: 'ready' })
createInterface({ input: process.stdin })
  .on('line', (line) => void obey(JSON.parse(line) as WebCommand))
  .on('close', () => process.exit(1))
const playing = Promise.all([...Array.from({ length: task.stories }, playStories), playAudits()])

async function playStories(): Promise<void> {
  while (state.isOn) {
    const story = new Story({
      caller,
      random,
      prefix: `web-${task.name}-${++made}-`,
      nextVersion,
      now,
      look: (keys) => tell({ say: 'look', keys }),
    })
    await story.play()
    doubtful.push(...story.doubtful)
    await sleep(random.below(PAUSE_MS))
  }
}

async function playAudits(): Promise<void> {
  for (let number = 1; state.isOn; number++) {
    const namespace = `audit-${task.name}-${number}`
    const audit = new Audit({ timers, caller, random, namespace, now, others })
    await audit.play()
    if (!audit.isOver) abandoned.push(namespace)
    await sleep(random.below(PAUSE_MS))
  }
}

async function others(namespace: string, count: number): Promise<void> {
  const turn = ++turns
  const isCounted = new Promise<void>((resolve) => counting.set(turn, resolve))
  tell({ say: 'look-count', namespace, count, turn })
  await Promise.race([isCounted, sleep(OTHERS_MS)])
  counting.delete(turn)
  tell({ say: 'look-over', turn, at: machineMs() })
}

async function obey(command: WebCommand): Promise<void> {
  switch (command.do) {
    case 'look':
      await caller.get(command.keys)
      break
    case 'count':
      await countOther(command)
      break
    case 'counted':
      counting.get(command.turn)?.()
      break
    case 'exercise': {
      const prefix = `web-${task.name}-x${++made}-`
      tell({ say: 'exercised', ...(await exercise({ caller, timers, prefix, nextVersion, now })) })
      break
    }
    case 'drain':
      await drain()
      break
    case 'stop':
      await timers.stop()
      process.exit(0)
  }
}

async function countOther(asked: Extract<WebCommand, { do: 'count' }>): Promise<void> {
  try {
    await countWithin(await timers.within(asked.namespace), caller, asked)
  } catch (error) {
    caller.codeOf('within', error)
  }
}

/** Ends the stories, and cancels everything of which nobody knows whether it is there. */
async function drain(): Promise<void> {
  state.isOn = false
  await playing
  for (const key of doubtful)
    await until(async () => !isDoubtful(await caller.cancel({ key, version: 0, dueAt: 0 })))
  for (const namespace of abandoned) await until(() => isEmptied(namespace))
  tell({ say: 'idle' })
}

async function isEmptied(namespace: string): Promise<boolean> {
  try {
    const within = await timers.within(namespace)
    await within.setQuota(undefined)
    const { found } = await within.cancelMany({ kind: counted })
    return found === 0
  } catch (error) {
    caller.codeOf('empty', error)
    return false
  }
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(100)
}

function nextVersion(): number {
  return ++versions
}

function now(): number {
  return machineMs() + task.epochMs
}

async function patiently(open: () => Promise<Timers>): Promise<Timers> {
  for (;;) {
    try {
      return await open()
    } catch (error) {
      if (!(error instanceof CarillonError)) throw error
      tell({ say: 'trouble', what: 'open', text: error.message, at: machineMs() })
      await sleep(100)
    }
  }
}

function tell(line: WebLine): void {
  writeSync(file, `${JSON.stringify(line)}\n`)
  writeLine(line)
}
