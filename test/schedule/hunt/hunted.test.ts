import { InvalidInputError } from 'carillon'
import { parseSchedule, type Schedule, type ScheduleJson } from 'carillon/schedule'
import { describe, expect, it } from 'vitest'
import { Random } from './random.js'
import { anyRule } from './rule.js'

const SEED = Number(process.env['SEED'] ?? 1)
const RULES = Number(process.env['RULES'] ?? 400)

// Stepping is slow, so limits are lowered to this many steps.
const MAX_STEPS = 1500

interface Limited {
  readonly text: string
  readonly steps: readonly number[]
  readonly make: () => Schedule
}

describe('Random rules with a limited number of occurrences', () => {
  it(`end where stepping through their occurrences ends (SEED=${SEED} RULES=${RULES})`, () => {
    const limited = Array.from({ length: RULES }, (_, index) => limitedRule(SEED * 1_000_003 + index))
    const found = limited.filter((rule) => rule !== undefined)
    expect(found.length).toBeGreaterThan(RULES / 4)
    expect(found.filter((rule) => !endsWhereStepsEnd(rule)).map(({ text }) => text)).toEqual([])
  })
})

function endsWhereStepsEnd({ steps, make }: Limited): boolean {
  const last = steps.at(-1)!
  const middle = steps[Math.floor(steps.length / 2)]!
  const asked = make()
  return (
    make().next(last - 1) === last &&
    make().next(last) === undefined &&
    asked.next(middle - 1) === middle &&
    asked.next(last - 1) === last &&
    asked.next(last) === undefined
  )
}

/** Returns a rule with a limit, and its occurrences found by stepping. Returns undefined if it has none. */
function limitedRule(seed: number): Limited | undefined {
  const random = new Random(seed)
  const schedule = madeFrom(() => {
    const rule = anyRule(random)
    return rule.make(rule.zone)
  })
  const json = schedule && freed(schedule.toJSON())
  const free = json && madeFrom(() => parseSchedule(json.free))
  if (json === undefined || free === undefined) return undefined
  const most = random.between(1, MAX_STEPS)
  const steps: number[] = []
  let at = free.next(-8.64e15)
  for (; at !== undefined && steps.length < most; at = free.next(at)) steps.push(at)
  if (steps.length === 0) return undefined
  const limitedJson = json.limitedTo(at === undefined ? most : steps.length)
  return { text: JSON.stringify(limitedJson), steps, make: () => parseSchedule(limitedJson) }
}

/** Removes the limit of a stored schedule, and adds another one: COUNT if it had COUNT, otherwise `times`. */
function freed(
  json: ScheduleJson,
): { readonly free: ScheduleJson; readonly limitedTo: (most: number) => ScheduleJson } | undefined {
  const { times, ...rest } = json
  if (times !== undefined) return { free: rest, limitedTo: (most) => ({ ...rest, times: most }) }
  if (json.type !== 'rrule' || !json.rule.includes(';COUNT=')) return undefined
  // COUNT includes exceptions and does not include additions, so both are removed.
  const { except: _except, also: _also, ...plain } = json
  const withCount = (text: string) => ({ ...plain, rule: json.rule.replace(/;COUNT=\d+/, text) })
  return { free: withCount(''), limitedTo: (most) => withCount(`;COUNT=${most}`) }
}

/** Returns undefined if the rule is refused: random parts may never match together. */
function madeFrom(make: () => Schedule): Schedule | undefined {
  try {
    return make()
  } catch (error) {
    if (error instanceof InvalidInputError) return undefined
    throw error
  }
}
