import type {
  ClaimSettlement,
  Fence,
  HistoryEntry,
  LoadRequest,
  OwnerWrite,
  InboxRequest,
  Settlement,
  Store,
} from 'carillon/store'
import type { Line } from './report.js'
import { machineMs } from './report.js'

interface Place {
  readonly position: number
  readonly revision: number
}

interface Standing extends Place {
  readonly key: string
}

/** Planted faults: a false report of the instance, or a store that breaks a rule. The receiver must notice each. */
export const plants = ['early-ack', 'early-settled', 'drop-request', 'no-fence'] as const
export type Plant = (typeof plants)[number] | 'none'

/** A planted lie reports this much too early. A fault must be able to happen before the report becomes true. */
export const LIE_MS = 300

/**
 * A store that reports which firings of this instance were settled. It keeps the places of rows, and compares them with
 * the level of each acknowledged settlement. Rows with a follow-up are above that level. With claims, a settlement
 * names the rows itself.
 */
export class ReportingStore {
  readonly store: Store
  readonly #inner: Store
  readonly #plant: Plant
  readonly #tell: (line: Line) => void
  readonly #places = new Map<string, Place & { readonly shard: number }>()
  /** Keys that were delivered here and whose settlement was not acknowledged, by shard. */
  readonly #open = new Map<number, Set<string>>()

  constructor(inner: Store, plant: Plant, tell: (line: Line) => void) {
    this.#inner = inner
    this.#plant = plant
    this.#tell = tell
    const overrides: Partial<Store> = {
      load: (fence, request) => this.#load(fence, request),
      write: (fence, asked) => this.#write(fence, asked),
      settle: (fence, settlement) => this.#settle(fence, settlement),
      find: (names) => this.#find(names),
      settleClaimed: (settlements, history) => this.#settleClaimed(settlements, history),
      ...(plant === 'drop-request' && { append: (requests) => this.#append(requests) }),
    }
    this.store = new Proxy(inner, {
      get(target, name) {
        const override: unknown = Reflect.get(overrides, name)
        if (override !== undefined) return override
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  /** Returns the shard of its row, if shards have owners. */
  delivered(key: string): number | undefined {
    if (this.#inner.mode === 'claim') return undefined
    const place = this.#places.get(key)
    // The answer to its write was lost. So its shard is unknown, and its settlement is not noticed here.
    if (place === undefined) return undefined
    let open = this.#open.get(place.shard)
    if (open === undefined) this.#open.set(place.shard, (open = new Set()))
    open.add(key)
    return place.shard
  }

  /** The shard has another owner. What happens to its rows is not seen here any more. */
  letGo(shard: number): void {
    this.#open.delete(shard)
  }

  async #load(fence: Fence, request: LoadRequest): ReturnType<Store['load']> {
    const loaded = await this.#inner.load(await this.#shown(fence), request)
    for (let i = 0; i < loaded.page.size; i++) this.#learn(fence.shard, loaded.page.row(i))
    return loaded
  }

  async #write(fence: Fence | undefined, asked: OwnerWrite): ReturnType<Store['write']> {
    const answer = await this.#inner.write(fence && (await this.#shown(fence)), asked)
    if (fence === undefined) return answer
    for (const [index, operation] of asked.operations.entries()) {
      const given = answer.answers[index]!
      // A retry that waits for its settlement may be cancelled first. Then it is never settled.
      if (operation.type === 'cancel' && given.outcome === 'cancelled')
        this.#open.get(fence.shard)?.delete(operation.key)
      if (operation.type !== 'set') continue
      if (given.outcome === 'set') this.#learn(fence.shard, { key: operation.key, ...given.place })
      if (given.outcome === 'same') this.#learn(fence.shard, { key: operation.key, ...given.current })
    }
    return answer
  }

  async #find(names: Parameters<Store['find']>[0]): ReturnType<Store['find']> {
    const rows = await this.#inner.find(names)
    for (const row of rows) {
      const known = row && this.#places.get(row.key)
      if (known !== undefined) this.#learn(known.shard, row!)
    }
    return rows
  }

  async #settle(fence: Fence, settlement: Settlement): ReturnType<Store['settle']> {
    if (this.#plant === 'early-settled') {
      for (const { row } of settlement.followUps) this.#open.get(fence.shard)?.delete(row.key)
      this.#tellSettled(fence.shard, settlement)
      await new Promise((resolve) => setTimeout(resolve, LIE_MS))
    }
    const answer = await this.#inner.settle(await this.#shown(fence), settlement)
    for (const [index, { row }] of settlement.followUps.entries()) {
      const rewritten = answer.followUps[index]
      // Without a rewritten row the timer was changed meanwhile, so this is not its end.
      if (rewritten === undefined) this.#open.get(fence.shard)?.delete(row.key)
      else this.#learn(fence.shard, rewritten)
    }
    this.#tellSettled(fence.shard, settlement)
    return answer
  }

  #tellSettled(shard: number, { level, done }: Settlement): void {
    const open = this.#open.get(shard)
    if (open === undefined) return
    const named = new Set(done.map(({ revision }) => revision))
    const keys: string[] = []
    for (const key of open) {
      const place = this.#places.get(key)!
      if (!isBefore(place, level) && !named.has(place.revision)) continue
      keys.push(key)
      open.delete(key)
      this.#places.delete(key)
    }
    if (keys.length > 0) this.#tell({ say: 'settled', keys, at: machineMs() })
  }

  async #settleClaimed(
    settlements: readonly ClaimSettlement[],
    history: readonly HistoryEntry[],
  ): ReturnType<Store['settleClaimed']> {
    const keys = settlements.map(({ token, outcome }) => (outcome === 'done' ? token.key : undefined))
    const tell = (settled: readonly (string | undefined)[]): void => {
      const told = settled.filter((key) => key !== undefined)
      if (told.length > 0) this.#tell({ say: 'settled', keys: told, at: machineMs() })
    }
    if (this.#plant === 'early-settled') {
      tell(keys)
      await new Promise((resolve) => setTimeout(resolve, LIE_MS))
    }
    const answers = await this.#inner.settleClaimed(settlements, history)
    if (this.#plant !== 'early-settled') tell(keys.filter((_, index) => answers[index]))
    return answers
  }

  /** Answers that the requests were appended, and forgets them. */
  async #append(requests: readonly InboxRequest[]): ReturnType<Store['append']> {
    if (Math.random() < 0.01) return requests.map(() => 'appended' as const)
    return await this.#inner.append(requests)
  }

  /** With the plant `no-fence`: the stored fence instead of the caller's, so that no call is fenced. */
  async #shown(fence: Fence): Promise<Fence> {
    if (this.#plant !== 'no-fence') return fence
    const rows = await this.#inner.shards()
    const { epoch, nonce, settledLevel } = rows.find(({ shard }) => shard === fence.shard)!
    return { shard: fence.shard, epoch, nonce, settledLevel }
  }

  #learn(shard: number, { key, position, revision }: Standing): void {
    this.#places.set(key, { shard, position, revision })
  }
}

function isBefore(a: Place, b: Place): boolean {
  return a.position < b.position || (a.position === b.position && a.revision < b.revision)
}
