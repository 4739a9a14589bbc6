import { KeyHistory, type Life, type WebFiring } from './key-history.js'
import type { WebCount, WebLine, WebRead, WebRow } from './web-line.js'

/** The checks, by the name under which violations are counted. */
const checks = Object.freeze({
  stale: '(a) an attempt started after the answer to a call that replaced, moved or cancelled its timer',
  unseen: '(b) a read or an answer did not count something that was acknowledged before',
  'failed-without-workers': '(c) a call failed while no worker was up',
  lost: 'the last version of a key was never done',
  early: "started before its due time by the store's clock",
  ghost: 'a version started that was refused or never set',
})
export type WebCheck = keyof typeof checks

export interface WebLedgerParts {
  /** The latest time that the store's clock may have shown at a moment of the machine's clock. */
  readonly storeTimeAt: (machineMs: number) => number
  readonly toleranceMs: number
  /** Whether a process was paused, cut off or gone between two moments. */
  readonly isDisturbed: (by: string, from: number, until: number) => boolean
  /**
   * An attempt of a timer that was replaced by a `set` may be seen this long after the answer: it counts as firing
   * from an earlier moment, which is not known. Default 0: the start that its process reports is that moment.
   */
  readonly inFlightMs?: number
}

interface Absence {
  readonly from: number
  until: number
}

interface KeyRead {
  readonly key: string
  readonly seen: WebRow | undefined
  readonly from: number
  readonly at: number
  readonly text: string
}

const MAX_SHOWN = 5

/**
 * Checks from outside what processes that own no shard were answered. Takes the lines of web processes, the reads of
 * all processes and the attempts that workers report.
 */
export class WebLedger {
  readonly faults: string[] = []
  readonly counts = new Map<WebCheck, number>()
  /** Calls by what they did, failed calls by code, and calls by the fault that had begun last. */
  readonly calls = new Map<string, number>()
  readonly failures = new Map<string, number>()
  readonly callsByFault = new Map<string, number>()
  /** Calls that were asked and answered while no worker was up. */
  withoutWorkers = 0
  attempts = 0
  /** Attempts that had started when a call replaced their timer, and were seen after its answer. */
  inFlight = 0
  /** The sets that were acknowledged, and those that were sent: what a store may count as created. */
  acknowledgedSets = 0
  sentSets = 0
  readonly #parts: WebLedgerParts
  readonly #keys = new Map<string, KeyHistory>()
  readonly #open = new Map<string, Extract<WebLine, { say: 'asked' }>>()
  // They are checked at the end: the answer to a call may come later than a read that has seen it.
  readonly #reads: KeyRead[] = []
  // Counts for other processes that were wrong, and when those changed something again.
  readonly #miscounts: { readonly turn: string; readonly at: number; readonly text: string }[] = []
  readonly #turnsOver = new Map<string, number>()
  readonly #absences: Absence[] = []
  #fault = 'no fault'

  constructor(parts: WebLedgerParts) {
    this.#parts = parts
  }

  /** Takes a line of a web process. */
  take(by: string, line: WebLine): void {
    switch (line.say) {
      case 'asked':
        this.#open.set(`${by} ${line.call}`, line)
        for (const row of line.rows) this.of(row.key).asked(line.op, row, line.at)
        if (line.op.includes('set') || line.op === 'replace') this.sentSets += line.rows.length
        break
      case 'answered':
        this.#answered(by, line)
        break
      case 'read':
        this.read(by, line)
        break
      case 'counted':
        this.#counted(by, line)
        break
      case 'audited':
        this.sentSets += line.sent
        this.acknowledgedSets += line.acked
        break
      case 'look-over':
        this.#turnsOver.set(`${by} ${line.turn}`, line.at)
        break
      case 'ready':
      case 'look':
      case 'look-count':
      case 'exercised':
      case 'trouble':
      case 'idle':
        break
    }
  }

  of(key: string): KeyHistory {
    let history = this.#keys.get(key)
    if (history === undefined) {
      const isDue = (dueAt: number, at: number): boolean =>
        dueAt <= this.#parts.storeTimeAt(at) + this.#parts.toleranceMs
      this.#keys.set(key, (history = new KeyHistory(key, isDue)))
    }
    return history
  }

  /** A read of some keys, by any process. */
  read(by: string, { how, keys, seen, from, at, failed }: WebRead): void {
    this.#called(how, from, at, by, failed)
    if (failed !== undefined) return
    const found = new Map(seen.map((row) => [row.key, row]))
    for (const key of keys) this.#reads.push({ key, seen: found.get(key), from, at, text: `${how} in ${by}` })
  }

  /** How many keys were read. */
  get reads(): number {
    return this.#reads.length
  }

  fired(firing: WebFiring): void {
    this.attempts++
    const history = this.of(firing.key)
    history.firings.push(firing)
    const earlyMs = (firing.rowDueAt ?? firing.dueAt) - this.#parts.storeTimeAt(firing.at)
    if (earlyMs > this.#parts.toleranceMs)
      this.#violated('early', history, `started ${earlyMs.toFixed(1)} ms early in ${firing.by}`)
  }

  done({ key, version, dueAt, rowDueAt }: WebRow & { readonly rowDueAt?: number }): void {
    const { done } = this.of(key)
    done.add(`${version} ${dueAt}`)
    if (rowDueAt !== undefined) done.add(`${version} ${rowDueAt}`)
  }

  faultBegins(name: string): void {
    this.#fault = name
  }

  /** No worker is up, and no lease of one is left. The returned function ends that. */
  noWorkers(from: number): (until: number) => void {
    const absence = { from, until: Infinity }
    this.#absences.push(absence)
    return (until) => (absence.until = until)
  }

  /** Acknowledged timers that are due and not done. */
  get waiting(): readonly string[] {
    return [...this.#keys.values()].filter((history) => this.#isWaiting(history)).map(({ key }) => key)
  }

  /** The versions that were done at least once. */
  get doneCount(): number {
    let count = 0
    for (const { done } of this.#keys.values()) count += done.size
    return count
  }

  /** The last checks, when nothing happens any more. */
  finish(): void {
    for (const { turn, at, text } of this.#miscounts)
      if (at < (this.#turnsOver.get(turn) ?? Infinity)) this.#violate('unseen', text)
    for (const { key, seen, from, at, text } of this.#reads) {
      const fault = this.of(key).faultOfRead(seen, from, at)
      if (fault !== undefined) this.#violated('unseen', this.of(key), `${fault} by ${text}`)
    }
    for (const history of this.#keys.values()) {
      if (this.#isWaiting(history)) this.#violated('lost', history, 'was acknowledged and never done')
      for (const firing of history.firings) this.#checkFiring(history, firing)
    }
  }

  #isWaiting({ life, doubtfulAt, done }: KeyHistory): boolean {
    return doubtfulAt === Infinity && life !== undefined && !done.has(`${life.version} ${life.dueAt}`)
  }

  #answered(by: string, { call, answers, many, at }: Extract<WebLine, { say: 'answered' }>): void {
    const asked = this.#open.get(`${by} ${call}`)!
    this.#open.delete(`${by} ${call}`)
    const failed = answers.find((answer) => answer.startsWith('failed '))?.slice('failed '.length)
    this.#called(asked.op, asked.at, at, by, failed)
    if (asked.op === 'cancel-many' && many !== undefined) {
      this.#cancelledMany(by, asked.rows, many, at)
      return
    }
    for (const [index, row] of asked.rows.entries()) {
      const answer = answers[index]!
      if (answer === 'set') this.acknowledgedSets++
      const fault = this.of(row.key).answered(asked.op, row, answer, at)
      if (fault !== undefined) this.#violated('unseen', this.of(row.key), `${fault}, by ${asked.op} in ${by}`)
    }
  }

  /** What was certainly there is cancelled. If all that was found was cancelled, nothing of it may start any more. */
  #cancelledMany(
    by: string,
    rows: readonly WebRow[],
    { found, cancelled }: { readonly found: number; readonly cancelled: number },
    at: number,
  ): void {
    const present = rows.filter(({ key }) => this.of(key).certain(at) === 'present')
    const absent = rows.filter(({ key }) => this.of(key).certain(at) === 'absent')
    if (cancelled < present.length || found > rows.length - absent.length) {
      const text = `${found} were found and ${cancelled} cancelled by prefix in ${by}, of ${present.length} that were there and ${absent.length} that were not`
      this.#violated('unseen', this.of(rows[0]!.key), text)
    }
    for (const row of rows) {
      const history = this.of(row.key)
      const certain = history.certain(at)
      const isCancelled = certain === 'present' || (certain === 'either' && found === cancelled)
      // Nobody knows which of those that were due were cancelled.
      const answer = isCancelled ? 'cancelled' : certain === 'absent' ? 'unknown' : 'failed unknown-outcome'
      history.answered('cancel-many', row, answer, at)
    }
  }

  #counted(by: string, { how, namespace, least, most, seen, from, at, failed, turn }: WebCount): void {
    this.#called(how, from, at, by, failed)
    if (failed !== undefined || (seen >= least && seen <= most)) return
    const text = `${namespace} has ${seen} timers by ${how} in ${by}, wanted ${least} to ${most}`
    if (turn === undefined) this.#violate('unseen', text)
    // A namespace has the name of the process that changes it: audit-NAME-NUMBER.
    else this.#miscounts.push({ turn: `${namespace.split('-')[1]} ${turn}`, at, text })
  }

  #called(what: string, from: number, at: number, by: string, failed: string | undefined): void {
    add(this.calls, what)
    add(this.callsByFault, this.#fault)
    if (failed !== undefined) add(this.failures, failed)
    if (!this.#absences.some((absence) => from >= absence.from && at <= absence.until)) return
    this.withoutWorkers++
    if (failed !== undefined)
      this.#violate(
        'failed-without-workers',
        `${what} in ${by} failed with ${failed} after ${Math.round(at - from)} ms`,
      )
  }

  #checkFiring(history: KeyHistory, firing: WebFiring): void {
    const lives = history.lives.filter(
      ({ version, dueAt }) =>
        version === firing.version && (dueAt === firing.dueAt || dueAt === firing.rowDueAt),
    )
    if (lives.length === 0) {
      // A call of unknown outcome may have left any due time.
      if (firing.at < history.doubtfulAt)
        this.#violated('ghost', history, `started version ${firing.version} in ${firing.by}`)
      return
    }
    // A move and a move back make the same life twice.
    const life = lives.reduce((last, each) => (each.endedAt > last.endedAt ? each : last))
    if (firing.at <= life.endedAt) return
    if (this.#hadStarted(life, firing)) this.inFlight++
    else {
      const ms = (firing.startedAt - life.endedAt).toFixed(1)
      const text = `attempt ${firing.attempt} at version ${firing.version} started in ${firing.by} ${ms} ms after ${life.endedBy} was answered`
      this.#violated('stale', history, text)
    }
  }

  /**
   * A `set` may replace a timer whose attempt has started. `cancelled` and `moved` say that none has: only a process
   * that was paused between its check and its handler may call it later.
   */
  #hadStarted({ endedAt, endedBy }: Life, { by, startedAt, at }: WebFiring): boolean {
    const isSet = endedBy !== 'move' && endedBy !== 'cancel' && endedBy !== 'cancel-many'
    if (isSet && at - endedAt <= (this.#parts.inFlightMs ?? 0)) return true
    return startedAt <= endedAt && (isSet || this.#parts.isDisturbed(by, startedAt, at))
  }

  #violated(check: WebCheck, history: KeyHistory, text: string): void {
    const shown = this.faults.length < MAX_SHOWN ? `\n      ${history.shown()}` : ''
    this.#violate(check, `${history.key} ${text}${shown}`)
  }

  #violate(check: WebCheck, text: string): void {
    add(this.counts, check)
    this.faults.push(`web, ${check}: ${text}`)
  }
}

function add<Name>(counts: Map<Name, number>, name: Name): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}
