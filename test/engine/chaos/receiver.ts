import type { ChaosSettings, Fired, Line, Place, Settled } from './report.js'

/** A firing that was delivered and whose settlement was not acknowledged. */
interface Open {
  readonly key: string
  readonly id: string
  attempt: number
  /** The round that delivered it last. */
  life: number
  place: Place
  /** When its last attempt was done; undefined while it runs or waits for a retry. */
  doneAt: number | undefined
}

/** What was open at a kill. */
export interface Crash {
  /** Firings that were done and not known to be settled. At most these are delivered again. */
  readonly exposed: number
  /** How long ago the oldest of them was done. */
  readonly oldestMs: number
  /** Firings under way. */
  readonly interrupted: number
  readonly settings: ChaosSettings | undefined
}

/**
 * Checks the promises from the receiver's side, over all rounds of an engine on one file store. Every acknowledged
 * timer is delivered and done at least once. None is early, and none comes after its settlement or cancellation was
 * acknowledged. Firing ids stay the same, and attempts rise. A level never passes an unfinished row.
 */
export class Receiver {
  readonly faults: string[] = []
  life = 0
  acked = 0
  deliveries = 0
  settledCount = 0
  /** Repeated deliveries: of firings that were done in an earlier round, and of those that were interrupted. */
  repeats = 0
  resumed = 0
  retries = 0
  settings: ChaosSettings | undefined
  readonly #dueAts = new Map<string, number>()
  readonly #waiting = new Set<string>()
  readonly #asked = new Set<string>()
  readonly #cancelled = new Set<string>()
  readonly #ids = new Map<string, string>()
  readonly #open = new Map<string, Open>()
  readonly #byRevision = new Map<number, Open>()
  readonly #settled = new Set<string>()
  readonly #done = new Set<string>()

  take(line: Line): void {
    switch (line.say) {
      case 'ready':
        this.settings = line.settings
        break
      case 'set':
        for (const [key, dueAt] of line.timers) this.#dueAts.set(key, dueAt)
        break
      case 'acked':
        this.acked += line.keys.length
        for (const key of line.keys) if (!this.#done.has(key)) this.#waiting.add(key)
        break
      case 'cancel':
        this.#asked.add(line.key)
        break
      case 'cancelled':
        this.#cancelled.add(line.key)
        break
      case 'fired':
        for (const firing of line.firings) this.#fired(firing)
        break
      case 'ended':
        for (const id of line.ids) this.#ended(id, line.isDone, line.at)
        break
      case 'settled':
        this.#settle(line)
        break
      case 'drained':
        if (line.dead > 0) this.faults.push(`${line.dead} dead letters, wanted none`)
        break
    }
  }

  /** The process is dead. Returns what it left open. */
  crashed(at: number): Crash {
    let exposed = 0
    let oldestMs = 0
    let interrupted = 0
    for (const { doneAt, life } of this.#open.values()) {
      if (life !== this.life) continue
      if (doneAt === undefined) interrupted++
      else {
        exposed++
        oldestMs = Math.max(oldestMs, at - doneAt)
      }
    }
    return { exposed, oldestMs, interrupted, settings: this.settings }
  }

  /** The checks at the end, when the store is empty. */
  finish(): void {
    for (const key of this.#waiting) {
      if (!this.#asked.has(key)) this.faults.push(`${key} was acknowledged and never done`)
    }
  }

  #fired({ key, id, attempt, dueAt, at, position, revision }: Fired): void {
    this.deliveries++
    const asked = this.#dueAts.get(key)
    if (asked === undefined) this.faults.push(`${key} was delivered and nobody had set it`)
    const isRetry = attempt > 1
    if (asked !== dueAt && !isRetry) this.faults.push(`${key} is due at ${dueAt}, it was set to ${asked}`)
    if (at < dueAt || at < (asked ?? 0)) this.faults.push(`${key} was delivered ${dueAt - at} ms early`)
    if (this.#cancelled.has(key)) this.faults.push(`${key} was delivered after it was cancelled`)
    if (this.#settled.has(id)) this.faults.push(`${key} was delivered after its settlement was acknowledged`)
    const known = this.#ids.get(key)
    if (known !== undefined && known !== id)
      this.faults.push(`${key} was the firing ${known} and is now ${id}`)
    this.#ids.set(key, id)
    const open = this.#open.get(id)
    if (open === undefined) {
      const fresh = { key, id, attempt, life: this.life, place: { position, revision }, doneAt: undefined }
      this.#open.set(id, fresh)
      this.#byRevision.set(revision, fresh)
      return
    }
    if (attempt <= open.attempt) {
      this.faults.push(`${key} was delivered as attempt ${attempt} after attempt ${open.attempt}`)
    }
    if (open.life === this.life) this.retries++
    else if (open.doneAt === undefined) this.resumed++
    else this.repeats++
    this.#byRevision.delete(open.place.revision)
    this.#byRevision.set(revision, open)
    open.attempt = attempt
    open.life = this.life
    open.place = { position, revision }
    open.doneAt = undefined
  }

  #ended(id: string, isDone: boolean, at: number): void {
    const open = this.#open.get(id)
    if (open === undefined) {
      this.faults.push(`${id} ended without having been delivered, or was settled before`)
      return
    }
    if (!isDone) return
    open.doneAt = at
    this.#waiting.delete(open.key)
    this.#done.add(open.key)
  }

  #settle({ level, done, rewritten }: Settled): void {
    // A settlement puts a row above the level, also while an attempt at it goes on.
    for (const [revision, to] of rewritten) {
      const open = this.#byRevision.get(revision)
      if (open === undefined) continue
      this.#byRevision.delete(revision)
      if (to === undefined) {
        this.#open.delete(open.id)
        continue
      }
      open.place = to
      this.#byRevision.set(to.revision, open)
    }
    const named = new Set(done)
    for (const open of this.#open.values()) {
      // A row of an earlier round may have another place, by a settlement that its process could not report any more.
      if (open.life !== this.life) continue
      if (!isBefore(open.place, level) && !named.has(open.place.revision)) continue
      if (open.doneAt === undefined) {
        this.faults.push(`${open.key} was settled while its attempt ${open.attempt} was not over`)
      }
      this.settledCount++
      this.#settled.add(open.id)
      this.#open.delete(open.id)
      this.#byRevision.delete(open.place.revision)
    }
  }
}

function isBefore(a: Place, b: Place): boolean {
  return a.position < b.position || (a.position === b.position && a.revision < b.revision)
}
