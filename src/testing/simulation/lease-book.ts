import type { Clock } from '../../time/index.js'
import { StoreError } from '../../error/index.js'
import type { Commit } from './commit.js'

/** Both readings of a clock at one moment. */
export interface Reading {
  readonly wall: number
  readonly monotonic: number
}

export function readingOf(clock: Clock): Reading {
  return { wall: clock.now(), monotonic: clock.monotonic() }
}

/**
 * What a process may believe of its leases, from what it sent and what it heard: each runs from before the
 * call that got it was sent, is over when either reading says so, and is gone once it heard 'fenced' or let go.
 */
export class LeaseBook {
  readonly #clock: Clock
  readonly #marginMs: number
  readonly #leases = new Map<number, Lease>()
  /** Shards whose epoch it is raising. */
  readonly #refencing = new Set<number>()
  /** When each nonce was sent for the first time. */
  readonly #sentFirst = new Map<number, Reading>()

  constructor(clock: Clock, marginMs: number) {
    this.#clock = clock
    this.#marginMs = marginMs
  }

  /** It is about to send this. */
  sending(name: string, args: readonly unknown[]): void {
    if (name === 'release') this.#leases.delete(fenceOf(args).shard)
    if (name === 'refence') this.#refencing.add(fenceOf(args).shard)
    const nonce = nonceOf(name, args)
    if (nonce !== undefined && !this.#sentFirst.has(nonce)) this.#sentFirst.set(nonce, readingOf(this.#clock))
  }

  heard(commit: Commit, sent: Reading): void {
    if (commit.name === 'claim') {
      const row = commit.answer
      if (row !== undefined)
        this.#put(row.shard, row.epoch, commit.args[0].leaseMs, this.#firstSent(row.nonce, sent))
    } else if (commit.name === 'renew') {
      const [fence, leaseMs] = commit.args
      const isOurs = this.#leases.get(fence.shard)?.epoch === fence.epoch
      if (isOurs) this.#put(fence.shard, fence.epoch, leaseMs, sent)
    } else if (commit.name === 'refence') {
      const [fence, nonce, leaseMs] = commit.args
      this.#refencing.delete(fence.shard)
      // It may have heard 'fenced' of an earlier call meanwhile, because of this very one.
      this.#put(fence.shard, commit.answer.epoch, leaseMs, this.#firstSent(nonce, sent))
    }
  }

  /** A call was refused or failed. */
  heardError(name: string, args: readonly unknown[], error: unknown): void {
    const isFenced = error instanceof StoreError && error.code === 'fenced'
    if (name === 'refence' && isFenced) this.#refencing.delete(fenceOf(args).shard)
    if (!isFenced) return
    const { shard, epoch } = fenceOf(args)
    // While it raises the epoch itself, it may be fenced off by nobody but itself.
    if (this.#leases.get(shard)?.epoch === epoch && !this.#refencing.has(shard)) this.#leases.delete(shard)
  }

  /** Why nothing of this shard may fire here now; undefined when it may. */
  objection(shard: number): string | undefined {
    const lease = this.#leases.get(shard)
    if (lease === undefined) return 'the process holds no lease of the shard'
    const over = {
      wall: lease.until.wall - this.#marginMs,
      monotonic: lease.until.monotonic - this.#marginMs,
    }
    const now = readingOf(this.#clock)
    if (now.monotonic > over.monotonic + 1) {
      return `by its monotonic clock the lease was over ${Math.round(now.monotonic - over.monotonic)} ms ago`
    }
    if (now.wall > over.wall + 1) return `by its wall clock the lease was over ${now.wall - over.wall} ms ago`
    return undefined
  }

  /** What is sent again under its nonce may have been granted the first time. */
  #firstSent(nonce: number, sent: Reading): Reading {
    return this.#sentFirst.get(nonce) ?? sent
  }

  #put(shard: number, epoch: number, leaseMs: number, sent: Reading): void {
    const last = this.#leases.get(shard)
    if (last !== undefined && last.epoch > epoch) return
    if (last !== undefined && last.until.monotonic > sent.monotonic + leaseMs) {
      this.#leases.set(shard, { ...last, epoch })
      return
    }
    this.#leases.set(shard, {
      epoch,
      until: { wall: sent.wall + leaseMs, monotonic: sent.monotonic + leaseMs },
    })
  }
}

interface Lease {
  readonly epoch: number
  readonly until: Reading
}

/** The fence that a call was sent with: calls that can be fenced off have it as their first argument. */
function fenceOf(args: readonly unknown[]): { readonly shard: number; readonly epoch: number } {
  return args[0] as { readonly shard: number; readonly epoch: number }
}

function nonceOf(name: string, args: readonly unknown[]): number | undefined {
  if (name === 'claim') return (args[0] as { readonly nonce: number }).nonce
  return name === 'refence' ? (args[1] as number) : undefined
}
