import type { Clock } from '../../../time/index.js'
import { StoreError } from '../../../error/index.js'
import type { Commit } from './commit.js'

/** The wall and monotonic time of a process at one moment, and the true time of that moment. */
export interface Reading {
  readonly wall: number
  readonly monotonic: number
  readonly at: number
}

/**
 * Which leases a process may believe in, judged by what it sent and which answers it got. A lease counts from before the
 * call was sent. It is over when either clock says so. It is gone once the process gets 'fenced' or sends a release.
 */
export class LeaseBook {
  readonly #clock: Clock
  readonly #world: Clock
  readonly #marginMs: number
  readonly #leases = new Map<number, Lease>()
  /** Shards whose epoch the process is raising. */
  readonly #refencing = new Set<number>()
  /** The nonce of the last unanswered claim of each shard. */
  readonly #unanswered = new Map<number, number>()
  /** When each nonce was sent for the first time. */
  readonly #sentFirst = new Map<number, Reading>()

  /** `world` is true time, `clock` is the clock that the process sees. */
  constructor(world: Clock, clock: Clock, marginMs: number) {
    this.#world = world
    this.#clock = clock
    this.#marginMs = marginMs
  }

  reading(): Reading {
    return { wall: this.#clock.now(), monotonic: this.#clock.monotonic(), at: this.#world.monotonic() }
  }

  /** The process is about to send this call. */
  noteSend(name: string, args: readonly unknown[]): void {
    if (name === 'release') this.#leases.delete(fenceOf(args).shard)
    if (name === 'refence') this.#refencing.add(fenceOf(args).shard)
    const nonce = nonceOf(name, args)
    if (nonce !== undefined && !this.#sentFirst.has(nonce)) this.#sentFirst.set(nonce, this.reading())
  }

  /** The nonce of the last claim of a shard that was never answered. */
  unansweredClaim(shard: number): number | undefined {
    return this.#unanswered.get(shard)
  }

  noteAnswer(commit: Commit, sent: Reading): void {
    if (commit.name === 'acquire') {
      const row = commit.answer
      this.#unanswered.delete(commit.args[0].shard)
      if (row !== undefined)
        this.#put(row.shard, row.epoch, commit.args[0].leaseMs, this.#firstSent(row.nonce, sent))
    } else if (commit.name === 'renew') {
      const [fence, leaseMs] = commit.args
      const isOurs = this.#leases.get(fence.shard)?.epoch === fence.epoch
      if (isOurs) this.#put(fence.shard, fence.epoch, leaseMs, sent)
    } else if (commit.name === 'refence') {
      const [fence, nonce, leaseMs] = commit.args
      this.#refencing.delete(fence.shard)
      // An earlier call may have been answered 'fenced' meanwhile, because of this very call.
      this.#put(fence.shard, commit.answer.epoch, leaseMs, this.#firstSent(nonce, sent))
    }
  }

  /** A call was refused or failed. */
  noteError(name: string, args: readonly unknown[], error: unknown): void {
    const isFenced = error instanceof StoreError && error.code === 'fenced'
    if (name === 'acquire') {
      const claim = args[0] as { readonly shard: number; readonly nonce: number }
      this.#unanswered.set(claim.shard, claim.nonce)
    }
    if (name === 'refence' && isFenced) this.#refencing.delete(fenceOf(args).shard)
    if (!isFenced) return
    const { shard, epoch } = fenceOf(args)
    // While it raises the epoch itself, its own call may be what fenced it.
    if (this.#leases.get(shard)?.epoch === epoch && !this.#refencing.has(shard)) this.#leases.delete(shard)
  }

  /** The reading when the call that got the lease was sent; undefined without a lease. */
  grantedAt(shard: number): Reading | undefined {
    return this.#leases.get(shard)?.sent
  }

  /** Why the process may not fire timers of this shard now; undefined when it may. */
  objection(shard: number): string | undefined {
    const lease = this.#leases.get(shard)
    if (lease === undefined) return 'the process holds no lease of the shard'
    const over = {
      wall: lease.until.wall - this.#marginMs,
      monotonic: lease.until.monotonic - this.#marginMs,
    }
    const now = this.reading()
    if (now.monotonic > over.monotonic + 1) {
      return `by its monotonic clock the lease was over ${Math.round(now.monotonic - over.monotonic)} ms ago`
    }
    if (now.wall > over.wall + 1) return `by its wall clock the lease was over ${now.wall - over.wall} ms ago`
    return undefined
  }

  /** A call that was sent several times with one nonce may have been granted the first time. */
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
      sent,
      until: { ...sent, wall: sent.wall + leaseMs, monotonic: sent.monotonic + leaseMs },
    })
  }
}

interface Lease {
  readonly epoch: number
  readonly sent: Reading
  readonly until: Reading
}

/** The fence of a call: it is the first argument of every call that can be fenced. */
function fenceOf(args: readonly unknown[]): { readonly shard: number; readonly epoch: number } {
  return args[0] as { readonly shard: number; readonly epoch: number }
}

function nonceOf(name: string, args: readonly unknown[]): number | undefined {
  if (name === 'acquire') return (args[0] as { readonly nonce: number }).nonce
  return name === 'refence' ? (args[1] as number) : undefined
}
