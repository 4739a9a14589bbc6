import { InvalidInputError } from '../../error/index.js'

/** What the suite needs from a test runner. vitest, jest, mocha and node:test all have it. */
export interface TestRunner {
  readonly describe: (title: string, body: () => void) => unknown
  readonly it: RunnerIt
}

interface RunnerIt {
  (title: string, run: () => Promise<void>, timeoutMs?: number): unknown
  readonly skip: (title: string, run: () => Promise<void>) => unknown
}

/** The runner made of the global `describe` and `it`. */
export function globalRunner(): TestRunner {
  const { describe, it } = globalThis as Partial<TestRunner>
  if (typeof describe === 'function' && typeof it === 'function') return { describe, it }
  throw new InvalidInputError(
    'invalid-option',
    'describeStoreContract found no global `describe` and `it`: pass those of your test runner, ' +
      "as in describeStoreContract('mine', open, { runner: { describe, it } })",
  )
}
