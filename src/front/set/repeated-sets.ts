import type { TimerEngine } from '../../engine/index.js'
import { InvalidInputError, shown } from '../../error/index.js'
import type { Store } from '../../store/index.js'
import type { TimerRow } from '../../timer/index.js'
import type { SetOptions, SetRequest } from './set-request.js'

const MAX_LENGTH = 512

/**
 * @internal Marks options whose set was surely not sent before, so that nothing is looked up. A symbol, because only a server that
 * counts the tries of a client can know it.
 */
export const firstTry = Symbol('first try')

/**
 * The identity of a timer whose set has an idempotency key. It is the same in every process and at all times: so the
 * store takes the same set twice as one timer, and every firing of it has the same id.
 */
export function identityFrom(
  idempotencyKey: unknown,
  { namespace, kind, key = '' }: { readonly namespace: string; readonly kind: string; readonly key?: string },
): number {
  if (typeof idempotencyKey !== 'string' || idempotencyKey === '' || idempotencyKey.length > MAX_LENGTH) {
    throw new InvalidInputError(
      'invalid-option',
      `idempotencyKey must be a string of 1 to ${MAX_LENGTH} characters, got ${shown(idempotencyKey)}`,
    )
  }
  return hash53(JSON.stringify([namespace, kind, key, idempotencyKey])) || 1
}

/**
 * A hash of 53 bits, known as cyrb53. Processes of different versions must agree on it: the result must never change. It
 * need not be cryptographic: identities are compared only within one name.
 */
function hash53(text: string): number {
  let low = 0xdead_beef
  let high = 0x41c6_ce57
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    low = Math.imul(low ^ unit, 2_654_435_761)
    high = Math.imul(high ^ unit, 1_597_334_677)
  }
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909)
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909)
  return 2 ** 32 * (high & 0x1f_ffff) + (low >>> 0)
}

/**
 * Finds the sets with an idempotency key that were done before, in any process: their timer is there, or has fired and is
 * still remembered (`outcomesMs`). Such a set is not submitted again.
 *
 * Proven by test/front/idempotency-key.test.ts and test/server/idempotency-anywhere.test.ts.
 */
export class RepeatedSets {
  readonly #engine: TimerEngine
  readonly #store: Store

  constructor(engine: TimerEngine, store: Store) {
    this.#engine = engine
    this.#store = store
  }

  /** The rows of repeated sets, by index. */
  async find(
    rows: readonly SetOptions<unknown>[],
    operations: readonly SetRequest[],
  ): Promise<ReadonlyMap<number, TimerRow>> {
    const found = new Map<number, TimerRow>()
    const addFound = (indexes: readonly number[], stored: readonly (TimerRow | undefined)[]): void => {
      for (const [at, index] of indexes.entries()) {
        const row = stored[at]
        if (row !== undefined && row.identity === operations[index]!.identity) found.set(index, row)
      }
    }
    const indexes = [...rows.keys()].filter((index) => mayBeRepeated(rows[index]!))
    if (indexes.length === 0) return found
    const names = indexes.map((index) => operations[index]!)
    await this.#engine.applyAcknowledged(names)
    addFound(indexes, await this.#store.find(names))
    // Only now: a timer that is settled in between is found in one of the two.
    const others = indexes.filter((index) => !found.has(index))
    if (others.length > 0)
      addFound(others, await this.#store.findSettled(others.map((index) => operations[index]!)))
    return found
  }
}

function mayBeRepeated(options: SetOptions<unknown>): boolean {
  return options.idempotencyKey !== undefined && !(firstTry in options)
}
