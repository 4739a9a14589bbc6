import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { InvalidInputError } from 'carillon'
import { cron, type Schedule } from 'carillon/schedule'
import { Random } from './random.js'
import { anyRule, type HuntedRule } from './rule.js'

/**
 * npm run hunt: makes random cron, calendar and recurrence rules, with every mix of parts, limits, amendments
 * and policies, and looks for those whose `next` is slow.
 *
 * It calls `next` where a rule is hardest: at its start, near its end, today, and in the year 9999. Each call
 * uses a new schedule and a zone name without cached data. The shortest of three runs counts, and of nine for
 * slow rules. So a busy machine, compilation and garbage collection matter little.
 *
 * The slowest rules then run in new processes, where nothing is compiled yet. Two values are printed beside
 * them: a control that does the same work each time, and a plain daily cron, the lower bound for a rule in a
 * zone.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    rules: { type: 'string', default: '10000' },
    slowest: { type: 'string', default: '12' },
    processes: { type: 'string', default: '5' },
    /** For a new process: the index of the rule, or `plain`. `after` is the argument of `next`. */
    one: { type: 'string' },
    after: { type: 'string', default: '0' },
  },
})
const seed = Number(values.seed)

const WARMING = 300
const SLOW_MS = 2
const DAY = 86_400_000
const FIRST = Date.parse('0001-01-01')
const LAST = Date.parse('9999-12-31')
const OUR_DAYS = [Date.parse('2026-11-16'), Date.parse('2027-03-14T06:59Z'), Date.parse('2096-04-01')]

interface Found {
  readonly index: number
  readonly text: string
  readonly after: number
  readonly ms: number
  readonly makeMs: number
}

function hunt(): void {
  const rules = Number(values.rules)
  const found: Found[] = []
  let refused = 0
  for (let index = -WARMING; index < rules; index++) {
    const rule = ruleAt(index)
    const slowest = slowestOf(rule, index)
    if (slowest === undefined) refused++
    else if (index >= 0) found.push(slowest)
  }
  const share = (ms: number) => found.filter((one) => one.ms > ms).length
  console.log(`seed ${seed}: ${found.length} rules, ${refused} refused`)
  console.log(`over 1 ms ${share(1)}, over 2 ms ${share(2)}, over 5 ms ${share(5)}, over 10 ms ${share(10)}`)
  const slowestMade = found.reduce((a, b) => (a.makeMs > b.makeMs ? a : b))
  console.log(`slowest to make ${slowestMade.makeMs.toFixed(2)} ms: ${shortened(slowestMade.text)}`)
  const plain = coldOf('plain', OUR_DAYS[0]!)
  console.log(
    `a plain cron in a new process ${plain.ms.toFixed(2)} ms (control ${plain.controlMs.toFixed(2)} ms)`,
  )
  found.sort((a, b) => b.ms - a.ms)
  for (const one of found.slice(0, Number(values.slowest))) {
    const cold = coldOf(String(one.index), one.after)
    console.log(
      `${one.ms.toFixed(2)} ms, in a new process ${cold.ms.toFixed(2)} ms (control ${cold.controlMs.toFixed(2)} ms): ` +
        `${one.index}, ${shortened(one.text)} after ${new Date(one.after).toISOString()}`,
    )
  }
}

function ruleAt(index: number): HuntedRule {
  return anyRule(new Random(Math.imul(seed, 1_000_003) + index))
}

function slowestOf(rule: HuntedRule, index: number): Found | undefined {
  const first = madeFrom(rule)
  if (first === undefined) return undefined
  let slowest = { ms: 0, after: 0 }
  for (const after of instantsOf(first)) {
    let ms = Infinity
    for (let i = 0; i < 3 && ms > slowest.ms; i++) {
      const schedule = rule.make(unknownName(rule.zone))
      ms = Math.min(
        ms,
        timed(() => schedule.next(after)),
      )
    }
    for (let i = 0; i < 6 && ms > Math.max(slowest.ms, SLOW_MS); i++) {
      const schedule = rule.make(unknownName(rule.zone))
      ms = Math.min(
        ms,
        timed(() => schedule.next(after)),
      )
    }
    if (ms > slowest.ms) slowest = { ms, after }
  }
  const makeMs = Math.min(...[0, 1, 2].map(() => timed(() => rule.make(unknownName(rule.zone)))))
  return { index, text: `${rule.text} in ${rule.zone}`, makeMs, ...slowest }
}

function madeFrom(rule: HuntedRule): Schedule | undefined {
  try {
    return rule.make(rule.zone)
  } catch (error) {
    if (error instanceof InvalidInputError) return undefined
    throw error
  }
}

/** Returns the arguments for which `next` may be slow. */
function instantsOf(schedule: Schedule): number[] {
  const end = endOf(schedule)
  return [FIRST, ...OUR_DAYS, end - 400 * DAY, end - DAY, end + DAY, LAST - 9 * DAY]
}

/** Returns when a schedule ends, exact to a day. */
function endOf(schedule: Schedule): number {
  let low = FIRST
  let high = LAST
  while (high - low > DAY) {
    const middle = low + Math.floor((high - low) / 2)
    if (schedule.next(middle) === undefined) high = middle
    else low = middle
  }
  return low
}

/** Shortens the long arrays in a text. */
function shortened(text: string): string {
  return text.replace(/((?:"[^"]*",){3})[^\]]*/g, (_, few: string) => `${few}…`)
}

let names = 0

/** Returns another spelling of a zone's name. The cache of zones does not know it yet. */
function unknownName(zone: string): string {
  if (zone === 'UTC') return zone
  let bits = names++
  const letters = zone.split('').map((letter) => {
    if (!/[a-z]/i.test(letter)) return letter
    const isUpper = (bits & 1) !== 0
    bits >>= 1
    return isUpper ? letter.toUpperCase() : letter.toLowerCase()
  })
  return letters.join('')
}

/** Returns the processor time of `work` in milliseconds. Other processes on the machine do not count. */
function timed(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

const plainRule: HuntedRule = {
  text: "cron('30 9 * * *')",
  zone: 'America/New_York',
  make: (zone) => cron('30 9 * * *', { zone }),
}

interface Cold {
  readonly ms: number
  readonly controlMs: number
}

/** Measures one call in a process without earlier calls. */
function coldOne(index: string, after: number): Cold {
  const rule = index === 'plain' ? plainRule : ruleAt(Number(index))
  const schedule = rule.make(rule.zone)
  const ms = timed(() => schedule.next(after))
  return { ms, controlMs: timed(control) }
}

/** Returns the shortest of several new processes. */
function coldOf(index: string, after: number): Cold {
  const args = [fileURLToPath(import.meta.url), '--seed', String(seed), '--one', index, `--after=${after}`]
  const runs = Array.from(
    { length: Number(values.processes) },
    () => JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as Cold,
  )
  return {
    ms: Math.min(...runs.map((run) => run.ms)),
    controlMs: Math.min(...runs.map((run) => run.controlMs)),
  }
}

function control(): number {
  let sum = 0
  for (let i = 0; i < 200_000; i++) sum = (sum * 31 + i) % 1_000_003
  return sum
}

if (values.one === undefined) hunt()
else process.stdout.write(JSON.stringify(coldOne(values.one, Number(values.after))))
