import { describe, expect, it } from 'vitest'
import { simulate, violationText } from '../../src/testing/simulation/index.js'

const SEEDS = 60
const TOGETHER = 10

// A part of what `npm run sim` does; each failing seed names the command that replays it.
describe('the engine in simulated trouble keeps its promises', () => {
  it.each(Array.from({ length: SEEDS / TOGETHER }, (_, index) => 1 + index * TOGETHER))(
    'from seed %d on',
    async (first) => {
      for (let seed = first; seed < first + TOGETHER; seed++) {
        const { violations } = await simulate(seed)
        expect(violations.map(violationText), `npm run sim -- --seed ${seed} --trace`).toEqual([])
      }
    },
  )
})
