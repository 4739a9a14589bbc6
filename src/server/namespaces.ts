import { LimitError } from '../error/index.js'
import type { Timers } from '../front/index.js'
import type { Store } from '../store/index.js'
import type { Clock, Wake } from '../time/index.js'
import { MAX_EMPTY_NAMESPACES, MAX_OPEN_NAMESPACES } from './defaults.js'

// `src/front` stores each kind under `kind/<namespace, percent-encoded>/<kind>`.
const KINDS = 'kind/'
// … and each quota under `quota/<namespace, percent-encoded>`.
const QUOTAS = 'quota/'

export interface NamespacesParts {
  readonly timers: Timers
  readonly store: Store
  readonly clock: Clock
  /** How often to read the store for namespaces that another instance has begun. */
  readonly refreshMs: number
  readonly onError: (error: unknown) => void
  /** How many may be open. By default as many as docs/limits.md says. */
  readonly limits?: { readonly stored: number; readonly empty: number }
}

/** Calls a function when a request is over. */
export type OnOver = (over: () => void) => void

interface OpenNamespace {
  readonly timers: Timers
  /** Whether the store has kinds of it, so that it must stay open for its timers. */
  isStored: boolean
  /** Requests that use it now. Counted only while it is empty. */
  users: number
}

/**
 * The timers of each namespace. Namespaces with kinds in the store are opened at the start, however many there are, so
 * that their timers fire. Others are opened by their first request. Until it has a kind, such a namespace has one of a
 * few seats: when they are taken, the one that was not used for longest is closed. So requests to namespaces without
 * anything in them cannot keep others from using theirs.
 *
 * Proven by test/server/namespaces.test.ts.
 */
export class Namespaces {
  readonly #parts: NamespacesParts
  readonly #limits: { readonly stored: number; readonly empty: number }
  readonly #open = new Map<string, OpenNamespace>()
  readonly #opening = new Map<string, Promise<OpenNamespace>>()
  // Those without kinds in the store, the one that was not used for longest first.
  readonly #empty = new Set<string>()
  #isClosing = false
  #wake: Wake | undefined
  #isStopped = false

  constructor(parts: NamespacesParts) {
    this.#parts = parts
    this.#limits = parts.limits ?? { stored: MAX_OPEN_NAMESPACES, empty: MAX_EMPTY_NAMESPACES }
  }

  /** Opens all namespaces of the store, and from now on those that other instances begin. */
  async start(): Promise<void> {
    await this.timersOf('default')
    await this.#openStored()
    this.#scheduleRefresh()
  }

  stop(): void {
    this.#isStopped = true
    this.#wake?.cancel()
  }

  /** The timers of a namespace if it is open. */
  openTimersOf(namespace: string): Timers | undefined {
    return this.#open.get(namespace)?.timers
  }

  /** The open namespaces. */
  *open(): Generator<readonly [namespace: string, timers: Timers]> {
    for (const [namespace, { timers }] of this.#open) yield [namespace, timers]
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size
  }

  /**
   * The timers of a namespace, for a request. Opens it if needed; synchronous if it is open. `onOver` is for a namespace
   * without kinds: it is not closed before the request is over.
   */
  timersOf(namespace: string, onOver?: OnOver): Timers | Promise<Timers> {
    const open = this.#open.get(namespace)
    if (open === undefined) return this.#openFor(namespace, onOver)
    if (!open.isStored) this.#use(namespace, open, onOver)
    return open.timers
  }

  async #openFor(namespace: string, onOver: OnOver | undefined): Promise<Timers> {
    // Not at the start and not for namespaces of the store: their timers must fire.
    const count = this.#open.size + this.#opening.size
    const isNew = !this.#opening.has(namespace)
    if (isNew && count - this.#empty.size >= this.#limits.stored && !(await this.#isInStore(namespace)))
      throw new LimitError(
        'too-many-namespaces',
        `${this.#limits.stored} namespaces with timers are already open: use one of them, or another server`,
      )
    const open = this.#open.get(namespace) ?? (await this.#openOnce(namespace))
    if (!open.isStored) this.#use(namespace, open, onOver)
    if (this.#empty.size > this.#limits.empty && !this.#isClosing) void this.#closeEmpty()
    return open.timers
  }

  #openOnce(namespace: string): Promise<OpenNamespace> {
    let opening = this.#opening.get(namespace)
    if (opening === undefined) {
      opening = this.#openNamespace(namespace).finally(() => this.#opening.delete(namespace))
      this.#opening.set(namespace, opening)
    }
    return opening
  }

  /** Every namespace with kinds or a quota in the store, by name, with the number of its kinds. */
  async stored(): Promise<readonly { readonly namespace: string; readonly kinds: number }[]> {
    const kinds = new Map<string, number>([['default', 0]])
    for (const { name } of await this.#parts.store.settings(KINDS)) {
      const namespace = namespaceOf(name, KINDS)
      kinds.set(namespace, (kinds.get(namespace) ?? 0) + 1)
    }
    for (const { name } of await this.#parts.store.settings(QUOTAS)) {
      const namespace = namespaceOf(name, QUOTAS)
      kinds.set(namespace, kinds.get(namespace) ?? 0)
    }
    return Array.from(kinds, ([namespace, count]) => ({ namespace, kinds: count })).toSorted((a, b) =>
      a.namespace < b.namespace ? -1 : 1,
    )
  }

  async #openNamespace(namespace: string): Promise<OpenNamespace> {
    const timers = await this.#parts.timers.within(namespace)
    const open = { timers, isStored: namespace === 'default', users: 0 }
    this.#open.set(namespace, open)
    if (!open.isStored) this.#empty.add(namespace)
    return open
  }

  /** Marks an empty namespace as used last, and as in use until its request is over. */
  #use(namespace: string, open: OpenNamespace, onOver: OnOver | undefined): void {
    this.#empty.delete(namespace)
    this.#empty.add(namespace)
    if (onOver === undefined) return
    open.users++
    onOver(() => open.users--)
  }

  /** Closes the empty namespaces that are too many. One with a kind by now stays: its timers have to fire. */
  async #closeEmpty(): Promise<void> {
    this.#isClosing = true
    try {
      // A copy: requests change the order meanwhile.
      for (const namespace of Array.from(this.#empty)) {
        if (this.#empty.size <= this.#limits.empty) break
        const open = this.#open.get(namespace)
        if (open === undefined || open.users > 0) continue
        const isInUse = (await open.timers.kinds()).length > 0 || (await open.timers.listTargets()).length > 0
        if (isInUse) this.#markStored(namespace, open)
        else if (open.users === 0) await this.#close(namespace, open)
      }
    } catch (error) {
      this.#parts.onError(error)
    } finally {
      this.#isClosing = false
    }
  }

  async #close(namespace: string, { timers }: OpenNamespace): Promise<void> {
    // No `await` between the check of `users` and this: otherwise a request could get timers that are being stopped.
    this.#open.delete(namespace)
    this.#empty.delete(namespace)
    await timers.stop()
  }

  #markStored(namespace: string, open: OpenNamespace): void {
    open.isStored = true
    this.#empty.delete(namespace)
  }

  async #isInStore(namespace: string): Promise<boolean> {
    return (await this.#parts.store.settings(`${KINDS}${encodeURIComponent(namespace)}/`)).length > 0
  }

  async #openStored(): Promise<void> {
    const settings = await this.#parts.store.settings(KINDS)
    const names = new Set(
      settings.map(({ name }) => name.slice(KINDS.length, name.indexOf('/', KINDS.length))),
    )
    for (const name of names) {
      const namespace = decodeURIComponent(name)
      this.#markStored(namespace, this.#open.get(namespace) ?? (await this.#openOnce(namespace)))
    }
  }

  #scheduleRefresh(): void {
    const { clock, refreshMs, onError } = this.#parts
    const refresh = async (): Promise<void> => {
      try {
        await this.#openStored()
      } catch (error) {
        onError(error)
      }
      if (!this.#isStopped) this.#scheduleRefresh()
    }
    this.#wake = clock.wakeAfter(refreshMs, () => void refresh(), { keepAlive: false })
  }
}

/** The namespace in the name of a setting. */
function namespaceOf(name: string, prefix: string): string {
  return decodeURIComponent(name.slice(prefix.length).split('/', 1)[0]!)
}
