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
const FEW_MILLISECONDS = 50_000

// About 14 ms.
const CENTURIES = 140_000

describe('the first next of a new process', () => {
  beforeAll(() => {
    execFileSync(process.execPath, [fileURLToPath(new URL('../../../scripts/build.mjs', import.meta.url))])
  })

  const few = [...hostile.counted, ...hostile.amended, ...hostile.sparse, ...hostile.changes]
  it.each(few)('takes a few milliseconds: %s', async (_, schedule, after) => {
    const { cost, answer } = await workOf(schedule, Date.parse(after))
    expect(answer).toBe(schedule.next(Date.parse(after)))
    expect(cost).toBeLessThan(FEW_MILLISECONDS)
  })

  it.each(hostile.centuries)(
    'takes no longer than it must over centuries: %s',
    async (_, schedule, after) => {
      const { cost, answer } = await workOf(schedule, Date.parse(after))
      expect(answer).toBe(schedule.next(Date.parse(after)))
      expect(cost).toBeLessThan(CENTURIES)
    },
  )
})

async function workOf(
  schedule: Schedule,
  after: number,
): Promise<{ readonly cost: number; readonly answer: number | undefined }> {
  const args = ['--no-opt', program, JSON.stringify(schedule), String(after)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const { answer, questions, steps } = JSON.parse(stdout) as {
    readonly answer?: number
    readonly questions: number
    readonly steps: number
  }
  const cost = steps + questions * QUESTION_STEPS
  if (process.env['SHOW'] !== undefined) console.log(`${cost} = ${steps} steps, ${questions} questions`)
  return { cost, answer }
}
