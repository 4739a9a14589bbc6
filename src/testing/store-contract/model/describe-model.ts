import type { Suite } from '../suite.js'
import type { World } from '../world.js'
import { ClaimWalk } from './claim-walk.js'
import { Walk } from './walk.js'

const DEFAULTS = Object.freeze({ seed: 20_260_101, rounds: 20, operationsPerRound: 5000 })

/** 100,000 random operations, compared with a model. Each round has a seed and can be repeated alone. */
export function describeModel(suite: Suite): void {
  const { seed, rounds, operationsPerRound } = { ...DEFAULTS, ...suite.setup.model }
  const operations = operationsPerRound.toLocaleString('en')
  for (let own = seed; own < seed + rounds; own++) {
    // Every other round has several shards. The seed decides it, so that a round can be repeated alone.
    const shape = { shardCount: own % 2 === 0 ? 1 : 3, timeoutMs: 300_000 }
    const title = `${operations} random operations agree with the model, seed ${own}`
    suite.case(
      title,
      (world) => walked(new Walk(world, own, suite.setup.reopen !== undefined), own, operationsPerRound),
      shape,
    )
    // The mode `claim` has fewer rules, so it gets fewer rounds.
    if (own % 4 !== seed % 4) continue
    suite.case(
      `${title}, in the mode claim`,
      (world: World) => walked(new ClaimWalk(world, own), own, operationsPerRound),
      { ...shape, strategy: 'claim' },
    )
  }
}

async function walked(walk: Walk | ClaimWalk, seed: number, operationsPerRound: number): Promise<void> {
  try {
    await walk.run(operationsPerRound)
  } catch (error) {
    const replay = `{ model: { seed: ${seed}, rounds: 1, operationsPerRound: ${operationsPerRound} } }`
    throw new Error(
      `${error instanceof Error ? error.message : String(error)}\n\n` +
        `after ${walk.operations} operations; the last steps were\n  ${walk.trail.join('\n  ')}\n` +
        `replay it alone with describeStoreContract(name, open, ${replay})`,
      { cause: error },
    )
  }
}
