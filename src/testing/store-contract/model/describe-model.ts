import type { Suite } from '../suite.js'
import { Walk } from './walk.js'

const DEFAULTS = Object.freeze({ seed: 20_260_101, rounds: 20, operationsPerRound: 5000 })

/** Random operations compared with a model: 100,000 of them, in rounds that can be repeated one by one. */
export function describeModel(suite: Suite): void {
  const { seed, rounds, operationsPerRound } = { ...DEFAULTS, ...suite.setup.model }
  for (let round = 0; round < rounds; round++) {
    const own = seed + round
    // Several shards every other round, where the store has them: the seed says which, so that it can be repeated.
    const shardCount = own % 2 === 0 ? 1 : 3
    suite.case(
      `${operationsPerRound.toLocaleString('en')} random operations agree with the model, seed ${own}`,
      async (world) => {
        const walk = new Walk(world, own, suite.setup.reopen !== undefined)
        try {
          await walk.run(operationsPerRound)
        } catch (error) {
          const replay = `{ model: { seed: ${own}, rounds: 1, operationsPerRound: ${operationsPerRound} } }`
          throw new Error(
            `${error instanceof Error ? error.message : String(error)}\n\n` +
              `after ${walk.operations} operations; the last steps were\n  ${walk.trail.join('\n  ')}\n` +
              `replay it alone with describeStoreContract(name, open, ${replay})`,
            { cause: error },
          )
        }
      },
      { shardCount, timeoutMs: 300_000 },
    )
  }
}
