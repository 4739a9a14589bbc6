import type { StoreContractOptions } from '../../src/testing/index.js'

/**
 * Random rounds with other seeds than the default: `CARILLON_MODEL_SEED=7 CARILLON_MODEL_ROUNDS=100 npm test --
 * test/store` runs a hundred rounds from seed 7 on.
 */
export function modelFromEnv(): NonNullable<StoreContractOptions['model']> {
  const { CARILLON_MODEL_SEED: seed, CARILLON_MODEL_ROUNDS: rounds } = process.env
  return {
    ...(seed === undefined ? {} : { seed: Number(seed) }),
    ...(rounds === undefined ? {} : { rounds: Number(rounds) }),
  }
}
