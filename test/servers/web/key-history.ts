import { isDoubtful, isWithoutEffect } from './story.js'
import type { WebOp, WebRow } from './web-line.js'

/** One version of a timer with one due time: from a `set` or a `move` until the call that ended it. */
export interface Life extends WebRow {
  /** When the call that ended it was answered; Infinity before that. */
  endedAt: number
  endedBy: WebOp | 'unknown' | undefined
}

/** What a key held after a change, as its only writer knows. Times are those of the machine's clock. */
interface KeyState {
  readonly askedAt: number
  answeredAt: number
  life: Life | undefined
}

/** An attempt, as the process that started it reported. */
export interface WebFiring extends WebRow {
  readonly by: string
  readonly attempt: number
  /** When the row was due: later than its occurrence after a retry or a move. Unknown over HTTP. */
  readonly rowDueAt?: number
  /** When its engine started it, and when its handler was called. */
  readonly startedAt: number
  readonly at: number
}

/**
 * The changes of one key, in the order of its only writer, which sends one call at a time. It says what a read at any
 * moment may have seen. `isDue` says whether a timer may have been due at some moment: from then on its firing changes
 * the key, too.
 */
export class KeyHistory {
  readonly key: string
  readonly lives: Life[] = []
  readonly firings: WebFiring[] = []
  readonly done = new Set<string>()
  readonly #isDue: (dueAt: number, at: number) => boolean
  readonly #states: KeyState[] = [{ askedAt: -Infinity, answeredAt: -Infinity, life: undefined }]
  readonly #asked: string[] = []
  /** Since then, nobody knows what the key holds. */
  doubtfulAt = Infinity

  constructor(key: string, isDue: (dueAt: number, at: number) => boolean) {
    this.key = key
    this.#isDue = isDue
  }

  get #last(): KeyState {
    return this.#states.at(-1)!
  }

  /** What it holds after the last change; undefined if that is nothing. */
  get life(): Life | undefined {
    return this.#last.life
  }

  /** Whether it certainly holds a timer that is not due, or certainly holds none. */
  certain(at: number): 'present' | 'absent' | 'either' {
    if (this.doubtfulAt < Infinity) return 'either'
    const { life } = this.#last
    if (life === undefined) return 'absent'
    return this.#isDue(life.dueAt, at) ? 'either' : 'present'
  }

  asked(op: WebOp, { version, dueAt }: WebRow, at: number): void {
    this.#states.push({ askedAt: at, answeredAt: Infinity, life: this.#last.life })
    this.#asked.push(`${at.toFixed(1)} ${op} version ${version}, due ${dueAt}`)
  }

  /**
   * Notes the answer to the last change. Returns what is wrong with it: an answer that cannot be, if everything that
   * was acknowledged before counts.
   */
  answered(op: WebOp, row: WebRow, answer: string, at: number): string | undefined {
    const state = this.#last
    const before = this.certain(at)
    state.answeredAt = at
    this.#asked.push(`${at.toFixed(1)} ${op} was answered ${answer}`)
    if (isWithoutEffect(answer)) return undefined
    if (isDoubtful(answer)) {
      this.doubtfulAt = Math.min(this.doubtfulAt, state.askedAt)
      this.#begin(row)
      return undefined
    }
    switch (answer) {
      case 'set':
        this.#end(state, at, op)
        state.life = this.#begin(row)
        if (op === 'set-if-absent' && before === 'present') return 'was set although it was there'
        if (op === 'set-if-wrong-revision') return 'was set although it has another revision'
        return undefined
      case 'moved':
        this.#end(state, at, op)
        state.life = this.#begin(row)
        return before === 'absent' ? 'was moved although it was not there' : undefined
      case 'cancelled':
        this.#end(state, at, op)
        state.life = undefined
        return before === 'absent' ? 'was cancelled although it was not there' : undefined
      case 'conflict':
        if (op === 'set-if-absent' && before === 'absent') return 'is absent, but a set if absent found it'
        if (op === 'set-if-revision' && before === 'present') return 'has not the revision that get has read'
        return undefined
      case 'settled':
        // Its owner knows that it is done. Until that is stored, others still see it, and it may be repeated.
        return before === 'present' ? 'was answered settled although it was there and not due' : undefined
      case 'unknown':
        if (before === 'present') return 'was answered unknown although it was there and not due'
        this.#end(state, at, 'unknown')
        state.life = undefined
        return undefined
      case 'firing':
        return before === 'either' ? undefined : `was answered firing although it was ${before}`
      default:
        return `was answered ${answer}`
    }
  }

  /** What is wrong with a read between two moments; undefined if nothing is, or if nobody can say. */
  faultOfRead(seen: WebRow | undefined, from: number, at: number): string | undefined {
    if (this.doubtfulAt < at) return undefined
    const first = this.#states.findLastIndex(({ answeredAt }) => answeredAt <= from)
    const possible = this.#states.filter(({ askedAt }, index) => index >= first && askedAt <= at)
    const isPossible = possible.some(({ life }) => {
      if (life === undefined) return seen === undefined
      const isDue = this.#isDue(life.dueAt, at)
      if (seen === undefined) return isDue
      return seen.version === life.version && (isDue || seen.dueAt === life.dueAt)
    })
    if (isPossible) return undefined
    const held = possible.map(({ life }) => shownLife(life)).join(' or ')
    return `held ${held}, and was read as ${shownLife(seen)}`
  }

  /** Line by line, for a report. */
  shown(): string {
    const fired = this.firings.map(
      ({ at, startedAt, by, attempt, version, dueAt }) =>
        `${at.toFixed(1)} attempt ${attempt} at version ${version}, due ${dueAt}, in ${by}, started ${startedAt.toFixed(1)}`,
    )
    return [...this.#asked, ...fired].toSorted((a, b) => parseFloat(a) - parseFloat(b)).join('\n      ')
  }

  #begin({ key, version, dueAt }: WebRow): Life {
    const life: Life = { key, version, dueAt, endedAt: Infinity, endedBy: undefined }
    this.lives.push(life)
    return life
  }

  #end({ life }: KeyState, at: number, by: Life['endedBy']): void {
    if (life === undefined) return
    life.endedAt = at
    life.endedBy = by
  }
}

function shownLife(row: WebRow | undefined): string {
  return row === undefined ? 'nothing' : `version ${row.version} due at ${row.dueAt}`
}
