import type { ChaosSettings, Fired, Line, Place, Settled } from './report.js'

/** A firing that was delivered and whose settlement was not acknowledged. */
interface Open {
  readonly key: string
  readonly id: string
  attempt: number
  /** The life that delivered it last. */
  life: number
  place: Place
  /** When its last attempt ended done; undefined while it is under way or to be tried again. */
  doneAt: number | undefined
}

/** What one kill left behind. */
export interface Crash {
  /** Firings that were done and not known to be settled: at most these are delivered again. */
  readonly exposed: number
  /** How long ago the oldest of them was done. */
  readonly oldestMs: number
  /** Firings under way. */
  readonly interrupted: number
  readonly settings: ChaosSettings | undefined
}

/**
 * The receiver's side of the promises, over all the lives of an engine on one folder: every acknowledged timer
 * is delivered and done at least once, none early, none after its settlement was acknowledged or after it was
 * cancelled; firing ids stay the same and attempts rise; a level never passes what is not over.
 */
export class Receiver {
  readonly faults: string[] = []
  life = 0
  acked = 0
  deliveries = 0
  settledCount = 0
  /** Deliveries of firings that had been done in an earlier life, and of those that had been interrupted. */
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

  /** The process is dead: what it leaves open. */
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

  /** At the end, when nothing is left in the store. */
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
    // Where a settlement put a row it stands above the level, also while an attempt at it goes on.
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
      // One of an earlier life may stand elsewhere, by a settlement that its process did not live to tell of.
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
