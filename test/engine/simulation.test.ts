import { describe, expect, it } from 'vitest'
import { simulate, violationText } from '../../src/testing/simulation/index.js'
import { mendedChecks, regressions } from './kept-seeds.js'
import { mutants } from './mutants.js'

const SEEDS = 60
const SEEDS_PER_TEST = 10

// A part of what `npm run sim` runs. The message of a failing seed is the command that replays it.
describe('the engine keeps its promises under simulated faults', () => {
  it.each(Array.from({ length: SEEDS / SEEDS_PER_TEST }, (_, index) => 1 + index * SEEDS_PER_TEST))(
    `in the ${SEEDS_PER_TEST} seeds from %d on`,
    async (first) => {
      for (let seed = first; seed < first + SEEDS_PER_TEST; seed++) {
        const { violations } = await simulate(seed)
        expect(violations.map(violationText), `npm run sim -- --seed ${seed} --trace`).toEqual([])
      }
    },
  )
})

it('every mutant that a kept seed names exists', () => {
  const named = regressions.flatMap(({ mutant }) => (mutant === undefined ? [] : [mutant]))
  expect(mutants.map(({ name }) => name)).toEqual(expect.arrayContaining(named))
})

describe('a seed that once broke a promise (issue 21) keeps all of them', () => {
  for (const { seed, point, title, onlyFaults, onlyOperations } of regressions) {
    it(`point ${point}, seed ${seed}: ${title}`, async () => {
      const { violations } = await simulate(seed, { onlyFaults, onlyOperations })
      expect(violations.map(violationText)).toEqual([])
    })
  }
})

describe('a seed in which a check asked too much keeps all promises', () => {
  for (const { seed, title } of mendedChecks) {
    it(`seed ${seed}: ${title}`, async () => {
      const { violations } = await simulate(seed)
      expect(violations.map(violationText)).toEqual([])
    })
  }
})
