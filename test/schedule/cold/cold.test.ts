import { execFile, execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Schedule } from 'carillon/schedule'
import { beforeAll, describe, expect, it } from 'vitest'
import { hostile } from './hostile.js'

const program = fileURLToPath(new URL('work.mjs', import.meta.url))

// A call of Intl takes 1.0 to 1.5 µs. A step of uncompiled code takes about 0.1 µs.
const QUESTION_STEPS = 14

/** The budget of the first `next`, in steps: about 5 ms. */
const FEW_MILLISECONDS = 46_000

// The budget of the second `next`: about 0.5 ms.
const A_MOMENT = 5000

// Longer budgets. Much of this work is in a few short loops, which V8 compiles while they run.
const CENTURIES = 60_000
const MILLENNIA = 68_000
const HUNTED = 99_000

describe('The first call of next in a new process', () => {
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
  it.each(few)('takes a few milliseconds for %s', async (_, schedule, after) => {
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
  it.each(long)('stays within its budget over centuries for %s', async (_, schedule, after, most) => {
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
  /** The cost of the second `next`. */
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
