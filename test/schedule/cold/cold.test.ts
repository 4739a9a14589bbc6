import { execFile, execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Schedule } from 'carillon/schedule'
import { beforeAll, describe, expect, it } from 'vitest'
import { hostile } from './hostile.js'

const program = fileURLToPath(new URL('work.mjs', import.meta.url))

// A question to Intl takes 1.0 to 1.5 µs, a step of code that nothing has compiled about 0.1 µs.
const QUESTION_STEPS = 14

/** What the first `next` may cost at the most, in steps: about 5 ms. */
const FEW_MILLISECONDS = 46_000

// The second time: at most 0.5 ms.
const A_MOMENT = 5000

// Much of it in a few short loops, which are compiled while they run.
const CENTURIES = 60_000
const MILLENNIA = 68_000
const HUNTED = 99_000

describe('the first next of a new process', () => {
  beforeAll(() => {
    execFileSync(process.execPath, [fileURLToPath(new URL('../../../scripts/build.mjs', import.meta.url))])
  })

  const few = [
    ...hostile.counted,
    ...hostile.amended,
    ...hostile.sparse,
    ...hostile.stepped,
    ...hostile.drifting,
    ...hostile.changes,
    ...hostile.hunted,
  ]
  it.each(few)('takes a few milliseconds: %s', async (_, schedule, after) => {
    const { cost, answer, costAgain } = await workOf(schedule, Date.parse(after))
    expect(answer).toBe(schedule.next(Date.parse(after)))
    expect(cost).toBeLessThan(FEW_MILLISECONDS)
    expect(costAgain).toBeLessThan(A_MOMENT)
  })

  const long = [
    ...hostile.centuries.map(([name, schedule, after]) => [name, schedule, after, CENTURIES] as const),
    ...hostile.huntedLong.map(([name, schedule, after]) => [name, schedule, after, HUNTED] as const),
    ...hostile.millennia.map(([name, schedule, after]) => [name, schedule, after, MILLENNIA] as const),
  ]
  it.each(long)('takes no longer than it must over centuries: %s', async (_, schedule, after, most) => {
    const { cost, answer, costAgain } = await workOf(schedule, Date.parse(after))
    expect(answer).toBe(schedule.next(Date.parse(after)))
    expect(cost).toBeLessThan(most)
    expect(costAgain).toBeLessThan(A_MOMENT)
  })
})

interface Work {
  readonly answer?: number
  readonly questions: number
  readonly steps: number
}

interface Cost {
  readonly cost: number
  readonly answer: number | undefined
  /** What the second question costs. */
  readonly costAgain: number
}

async function workOf(schedule: Schedule, after: number): Promise<Cost> {
  const args = ['--no-opt', program, JSON.stringify(schedule), String(after)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const { second, ...first } = JSON.parse(stdout) as Work & { readonly second: Work }
  const cost = costOf(first)
  const costAgain = costOf(second)
  if (process.env['SHOW'] !== undefined) {
    console.log(`${cost} = ${first.steps} steps, ${first.questions} questions; again ${costAgain}`)
  }
  return { cost, answer: first.answer, costAgain }
}

function costOf({ steps, questions }: Work): number {
  return steps + questions * QUESTION_STEPS
}
