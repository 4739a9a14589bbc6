import {
  type EngineOptions,
  type EngineSettings,
  engineSettings,
  type SubmitAnswer,
} from '../../../src/engine/index.js'
import { StoreError } from '../../../src/error/index.js'
import type { Fence, Operation, RequestedOperation, ShardRow, Settlement } from '../../../src/store/index.js'
import type { SimulatedEngine } from '../../../src/testing/simulation/world/simulated-process.js'
import { firingIdOf, type Outcome, shardOf, type TimerRow } from '../../../src/timer/index.js'

/**
 * The engine that one would write in an afternoon. It works as long as nothing goes wrong. When an answer is lost it
 * forgets the call. It fires every row that it once loaded, and never checks whether it still owns the shard.
 */
export class NaiveEngine implements SimulatedEngine {
  readonly #options: EngineOptions
  readonly #settings: EngineSettings
  readonly #owned = new Map<number, ShardRow>()
  readonly #held = new Map<string, TimerRow>()
  #isStopped = false
  #lastRequest = 0

  constructor(options: EngineOptions) {
    this.#options = options
    this.#settings = engineSettings(options.settings)
  }

  open(): Promise<void> {
    return Promise.resolve()
  }

  start(): Promise<void> {
    void this.#live()
    return Promise.resolve()
  }

  stop(): Promise<void> {
    this.#isStopped = true
    return Promise.resolve()
  }

  async submit(operations: readonly RequestedOperation[]): Promise<readonly SubmitAnswer[]> {
    return await Promise.all(operations.map((operation) => this.#submit(operation)))
  }

  async #submit(operation: RequestedOperation): Promise<SubmitAnswer> {
    const { store, clock, memberId } = this.#options
    const shard = shardOf(operation, store.shardCount)
    try {
      const fence = this.#fence(shard)
      if (fence === undefined) {
        const id = `${memberId}-${++this.#lastRequest}`
        const deadline = clock.now() + 60_000
        await store.append([{ id, shard, deadline, operation }])
        return operation.type === 'set' ? { outcome: 'appended' } : failed()
      }
      await this.#takeRequests(fence)
      return (await this.#write(fence, operation)) ?? failed()
    } catch {
      return failed()
    }
  }

  async #write(
    fence: Fence,
    requested: RequestedOperation,
    request?: string,
  ): Promise<SubmitAnswer | undefined> {
    const extra = request === undefined ? {} : { request }
    const position = requested.type === 'cancel' ? 0 : requested.dueAt
    const operation: Operation =
      requested.type === 'cancel' ? { ...requested, ...extra } : { ...requested, ...extra, position }
    const { answers } = await this.#options.store.write(fence, { operations: [operation] })
    const answer = answers[0]!
    switch (answer.outcome) {
      case 'set':
        if (requested.type === 'set') this.#hold(fence.shard, { ...requested, ...answer.place })
        return { outcome: 'set', revision: answer.place.revision, replaced: answer.replaced }
      case 'same':
        return { outcome: 'set', revision: answer.current.revision, replaced: undefined }
      case 'moved':
        this.#hold(fence.shard, answer.row)
        return { outcome: 'moved', revision: answer.row.revision }
      case 'cancelled':
        this.#held.delete(`${requested.kind}/${requested.key}`)
        return { outcome: 'cancelled' }
      case 'conflict':
        return { outcome: 'conflict', current: answer.current }
      case 'unknown':
      case 'firing':
      case 'settled':
        return { outcome: answer.outcome }
      case 'below-level':
      case 'answered-before':
      case 'expired':
        return undefined
    }
  }

  async #live(): Promise<void> {
    const { store, clock } = this.#options
    while (!this.#isStopped) {
      try {
        for (const row of await store.shards()) await this.#tend(row)
      } catch {
        // The next round tries again.
      }
      await new Promise<void>((resolve) => clock.wakeAfter(this.#settings.acquireMs, resolve))
    }
  }

  async #tend(row: ShardRow): Promise<void> {
    const { store, memberId = '', random = () => 0.5 } = this.#options
    const { leaseMs } = this.#settings
    const fence = this.#fence(row.shard)
    if (fence !== undefined) {
      this.#owned.set(row.shard, await store.renew(fence, leaseMs))
      await this.#takeRequests(fence)
      return
    }
    const nonce = 1 + Math.floor(random() * 1e9)
    const claim = { shard: row.shard, owner: memberId, nonce, leaseMs, expectedEpoch: row.epoch }
    const claimed = await store.acquire(claim)
    if (claimed === undefined) return
    this.#owned.set(row.shard, claimed)
    const { page } = await store.load(this.#fence(row.shard)!, {
      from: claimed.readLevel,
      untilExclusive: Number.MAX_SAFE_INTEGER,
      limit: 100_000,
      limitBytes: Infinity,
    })
    for (let index = 0; index < page.size; index++) this.#hold(row.shard, page.row(index))
  }

  async #takeRequests(fence: Fence): Promise<void> {
    const requests = await this.#options.store.requests(fence, 10)
    for (const { id, operation } of requests) {
      if (operation.type !== 'report' && operation.type !== 'barrier') await this.#write(fence, operation, id)
    }
  }

  #hold(shard: number, row: TimerRow): void {
    const name = `${row.kind}/${row.key}`
    this.#held.set(name, row)
    this.#options.clock.wakeAt(row.dueAt, () => {
      if (this.#held.get(name) !== row || this.#isStopped) return
      const { clock, deliver } = this.#options
      let isReported = false
      const report = (outcome: Outcome): void => {
        if (isReported) return
        isReported = true
        this.#settle(shard, row, outcome).catch(() => undefined)
      }
      deliver([
        {
          id: firingIdOf(row),
          row,
          attempt: row.attempt + 1,
          firedAt: clock.now(),
          isLive: true,
          start: () => true,
          postpone: () => undefined,
          report,
        },
      ])
    })
  }

  async #settle(shard: number, row: TimerRow, outcome: Outcome): Promise<void> {
    const owned = this.#owned.get(shard)
    if (this.#held.get(`${row.kind}/${row.key}`) !== row || owned === undefined) return
    const settlement: Settlement = {
      id: row.revision,
      level: owned.settledLevel,
      settledCount: 0,
      done: outcome.type === 'done' ? [row] : [],
      followUps: [],
      dead: outcome.type === 'dead' ? [{ row, diedAt: 0, reason: outcome.reason }] : [],
      history: [],
    }
    if (outcome.type === 'done' || outcome.type === 'dead') {
      await this.#options.store.settle(owned, settlement)
      return
    }
    const progress =
      outcome.type === 'retry'
        ? { attempt: row.attempt + 1, occurrence: row.occurrence }
        : { attempt: 0, occurrence: row.occurrence + 1 }
    const followUp = { row, dueAt: outcome.dueAt, position: outcome.dueAt, ...progress }
    const { followUps } = await this.#options.store.settle(owned, { ...settlement, followUps: [followUp] })
    if (followUps[0] !== undefined) this.#hold(shard, followUps[0])
  }

  #fence(shard: number): Fence | undefined {
    return this.#owned.get(shard)
  }
}

function failed(): SubmitAnswer {
  return { outcome: 'failed', error: new StoreError('unknown-outcome', 'nobody knows') }
}
