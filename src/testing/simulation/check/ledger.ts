import type { Operation, OperationAnswer, InboxRequest, SetOperation } from '../../../store/index.js'
import { isBefore, shardOf, type TimerName, type TimerRow } from '../../../timer/index.js'
import type { Commit } from './commit.js'
import { checkFollowUp, isOnlyMoved, noteSettledAttempts, type Progress } from './follow-up-check.js'
import { Heartbeats } from './heartbeats.js'
import { OfferCheck } from './offer-check.js'
import type { Journal } from './journal.js'
import {
  type Attempt,
  hasEnded,
  type LastAttempt,
  type Life,
  lifeText,
  type LifeState,
  type Version,
} from '../world/life.js'
import type { StoreInspector } from './store-inspector.js'
import type { StoreTime } from '../world/store-time.js'

/**
 * The truth about every timer: which lives there were, which still exist, how each ended and whether it was allowed to
 * end so. It is built from the store's commits alone, separately from the store, and trusts no engine.
 *
 * Proven by test/testing/simulation/simulation.test.ts, which runs a naive engine that must be caught.
 */
export class Ledger {
  /** All lives of an identity, the last one last. */
  readonly lives = new Map<number, Life[]>()
  /** Requests in the inboxes, in order of arrival. */
  readonly requests = new Map<string, InboxRequest>()
  /** For each request that waits: how often its shard had been acquired when it was appended. */
  readonly #appendedUnder = new Map<string, number>()
  /** Identities whose set was appended to an inbox, applied or not. */
  readonly appended = new Set<number>()
  /** When each set was acknowledged to a client, by identity: in the inbox, or applied. */
  readonly acknowledged = new Map<number, number>()
  /** Identities whose requested set was answered 'conflict'. */
  readonly conflicted = new Set<number>()
  /** Committed cancels and moves, to compare answers with. */
  readonly changes: Change[] = []
  /** How often each shard was acquired. */
  readonly claims: number[]
  /** How each ownership of a shard ended, by its number in `claims`. */
  readonly #endings: Map<number, Ending>[]
  readonly #heartbeats: Heartbeats
  readonly offers: OfferCheck
  readonly #standing: Map<string, Life>[]
  /** Lives that a write replaced whose answer its process does not have yet. */
  #unansweredReplacements: Life[] = []
  readonly #journal: Journal
  readonly #inspector: StoreInspector
  readonly #maxClockOffsetMs: number
  readonly #time: StoreTime
  /** How many dead letters were stored. */
  #letters = 0
  readonly #tally: Record<LifeState | 'created', number> = {
    created: 0,
    standing: 0,
    settled: 0,
    cancelled: 0,
    replaced: 0,
    dead: 0,
  }

  constructor(parts: {
    readonly shardCount: number
    readonly journal: Journal
    readonly inspector: StoreInspector
    readonly time: StoreTime
    readonly maxClockOffsetMs: number
  }) {
    const { shardCount, journal, inspector, time, maxClockOffsetMs } = parts
    this.#standing = Array.from({ length: shardCount }, () => new Map<string, Life>())
    this.claims = Array.from({ length: shardCount }, () => 0)
    this.#endings = Array.from({ length: shardCount }, () => new Map<number, Ending>())
    this.#heartbeats = new Heartbeats(
      () => time.clock.now(),
      (at) => time.isAheadSince(at),
    )
    this.offers = new OfferCheck(journal, time, this.#heartbeats)
    this.#maxClockOffsetMs = maxClockOffsetMs
    this.#time = time
    this.#journal = journal
    this.#inspector = inspector
  }

  /** The last life of an identity. */
  life(identity: number): Life | undefined {
    return this.lives.get(identity)?.at(-1)
  }

  standing(shard: number): ReadonlyMap<string, Life> {
    return this.#standing[shard]!
  }

  get standingCount(): number {
    return this.#standing.reduce((sum, lives) => sum + lives.size, 0)
  }

  note(commit: Commit, process: number): void {
    this.offers.note(commit, process)
    if (commit.name === 'acquire') this.#noteClaim(commit)
    if (commit.name === 'release') this.#noteEnding(commit.args[0].shard, 'released')
    if (commit.name === 'heartbeat') {
      const [member, ttlMs] = commit.args
      this.#heartbeats.note(member, ttlMs, commit.answer.members, this.#journal.at)
    }
    if (commit.name === 'removeMember') this.#heartbeats.remove(commit.args[0])
    if (commit.name === 'append') {
      for (const [index, request] of commit.args[0].entries()) {
        if (commit.answer[index] === 'appended') this.#noteAppended(request, process)
      }
    }
    if (commit.name === 'write') {
      for (const [index, operation] of commit.args[1].operations.entries()) {
        this.#noteOperation(operation, commit.answer.answers[index]!, process)
      }
    }
    if (commit.name === 'settle') this.#noteSettle(commit, process)
    if (commit.name === 'write' || commit.name === 'settle') this.#checkCounts()
  }

  /** Whether a timer of this name, and of this identity if given, existed all the time between two moments. */
  stoodThroughout(name: string, identity: number | undefined, from: number, to: number): boolean {
    let until = from
    for (const life of this.#livesOf(name)) {
      if (identity !== undefined && life.identity !== identity) continue
      if (life.bornAt <= until && life.endedAt > until) until = life.endedAt
    }
    return until > to
  }

  #livesOf(name: string): Life[] {
    const lives = [...this.lives.values()].flat().filter((life) => life.name === name)
    return lives.toSorted((a, b) => a.bornAt - b.bornAt)
  }

  /** A process got the answer to a write: it now knows what this write, and those before it, replaced. */
  noteAnsweredWrite(process: number, shard: number): void {
    this.#unansweredReplacements = this.#unansweredReplacements.filter((life) => {
      if (life.replacedBy !== process || life.shard !== shard) return true
      life.replacedBy = undefined
      return false
    })
  }

  #noteClaim(commit: Commit & { name: 'acquire' }): void {
    const { shard } = commit.args[0]
    if (commit.answer === undefined || commit.before[shard]!.epoch === commit.after[shard]!.epoch) return
    const isTakeover = commit.before[shard]!.owner !== ''
    if (isTakeover) {
      this.#noteEnding(shard, 'taken')
      const { leaseUntil } = commit.before[shard]!
      for (const life of this.#standing[shard]!.values()) this.#noteTakeover(life, leaseUntil)
    }
    this.claims[shard]!++
  }

  #noteEnding(shard: number, how: Ending['how']): void {
    this.#endings[shard]!.set(this.claims[shard]!, { how, at: this.#journal.at })
  }

  /** The shard was taken from an owner that had not released it, and whose lease ended at `leaseUntil`. */
  #noteTakeover(life: Life, leaseUntil: number): void {
    const { dueAt, attempt: counted } = life.version
    // No owner starts a row that is due after the end of its lease, so the next one must not suspect it.
    if (dueAt <= leaseUntil + this.#maxClockOffsetMs) {
      if (!this.#isExplained(life)) life.unexplained++
      return
    }
    // An owner that measured the store's clock before it was set back may have attempted rows that are due later. It may
    // be an earlier owner than the last, if the last was lost before it could record the attempt.
    if (!this.#time.wasSetBack) return
    for (const attempt of life.attempts) {
      if (attempt.number > counted && !attempt.isSettled) attempt.mayRepeat = true
    }
  }

  /** Whether an attempt accounts for the attempt that the next owner must suspect. */
  #isExplained(life: Life): boolean {
    const claim = this.claims[life.shard]!
    const { occurrence, held } = life.version
    return (
      held !== undefined ||
      life.attempts.some(
        (attempt) => attempt.claim === claim && attempt.occurrence === occurrence && !attempt.isSettled,
      )
    )
  }

  /** How the ownership ended under which an attempt started; undefined while it lasts. */
  endingOf(life: Life, attempt: Attempt): Ending | undefined {
    return this.#endings[life.shard]!.get(attempt.claim)
  }

  /** Whether an attempt runs in a process that released the shard, is alive and sends heartbeats. */
  runsElsewhere(life: Life, attempt: Attempt): boolean {
    if (attempt.offer !== undefined)
      return attempt.occurrence === life.version.occurrence && this.offers.isRunning(attempt)
    const ending = this.endingOf(life, attempt)
    const { firer } = attempt
    return (
      attempt.outcome === undefined &&
      !attempt.isSettled &&
      attempt.occurrence === life.version.occurrence &&
      ending?.how === 'released' &&
      firer.isAlive &&
      !firer.isStopping &&
      this.#heartbeats.isShownSince(firer.member, ending.at)
    )
  }

  /** A request about this timer's name that waited when the shard was acquired last, and still does. */
  foundAtAcquisition(life: Life): InboxRequest | undefined {
    for (const request of this.requests.values()) {
      const { id, shard, operation } = request
      if (shard !== life.shard || operation.type === 'report' || operation.type === 'barrier') continue
      if (nameKey(operation) !== life.name) continue
      if (this.#appendedUnder.get(id)! < this.claims[shard]!) return request
    }
    return undefined
  }

  /** An acknowledged set of this name that still waits in the inbox, and replaces this timer. */
  acknowledgedSuccessor(life: Life): InboxRequest | undefined {
    for (const request of this.requests.values()) {
      const { operation } = request
      if (operation.type !== 'set' || operation.identity === life.identity) continue
      if (nameKey(operation) === life.name && this.acknowledged.has(operation.identity)) return request
    }
    return undefined
  }

  #noteAppended(request: InboxRequest, process: number): void {
    this.requests.set(request.id, request)
    this.#appendedUnder.set(request.id, this.claims[request.shard]!)
    if (request.operation.type === 'set') this.appended.add(request.operation.identity)
    if (request.operation.type !== 'report') return
    const { identity, occurrence, attempt: number, result, offer } = request.operation
    const reported = this.life(identity)?.attempts.filter(
      (other) =>
        other.process === process &&
        other.occurrence === occurrence &&
        other.number === number &&
        other.offer?.token === offer,
    )
    // After the store's clock was set back, two attempts may have the same number (promise 11), also in one process.
    const attempt = reported?.find(({ outcome }) => outcome !== undefined) ?? reported?.[0]
    if (result.type === 'unstarted') {
      if (attempt === undefined) this.#journal.count('given back by the inbox')
      else
        this.#journal.violated(
          11,
          `attempt ${number} of timer ${identity} was reported as unstarted but had started`,
        )
    } else if (attempt?.outcome === undefined) {
      this.#journal.violated(
        11,
        `attempt ${number} of timer ${identity} was reported as ended but had not ended`,
      )
    } else {
      attempt.sentAt ??= this.#journal.at
      this.#journal.count('reported by the inbox')
    }
  }

  #noteOperation(operation: Operation, answer: OperationAnswer, process: number): void {
    const { outcome } = answer
    if (operation.request !== undefined && outcome !== 'below-level' && outcome !== 'answered-before') {
      if (!this.requests.delete(operation.request)) {
        this.#journal.violated(9, `request ${operation.request} was applied twice`)
      }
    }
    if (operation.type === 'answer') return
    if (operation.type === 'set' && outcome === 'conflict') this.conflicted.add(operation.identity)
    const name = nameKey(operation)
    const standing = this.#standing[this.#shardOf(operation)]!
    const life = standing.get(name)
    switch (outcome) {
      case 'set':
        if (life !== undefined) {
          this.#end(life, 'replaced')
          life.replacedBy = process
          life.successor = operation.type === 'set' ? operation.identity : undefined
          this.#unansweredReplacements.push(life)
        }
        if (operation.type === 'set') this.#begin(operation, { ...operation, ...answer.place })
        return
      case 'same':
        if (operation.type === 'set' && life?.identity !== operation.identity) {
          this.#journal.violated(
            9,
            `a set of timer ${operation.identity} was answered same but no such timer exists`,
          )
        }
        return
      case 'moved':
        if (life?.identity !== answer.row.identity || life.version.revision !== answer.from.revision) {
          this.#journal.violated(10, `a move of ${name} changed a row that does not exist`)
          return
        }
        this.#noteMoved(life, answer.row, process)
        this.#rewrite(life, answer.row)
        this.changes.push({ type: 'moved', name, life, at: this.#journal.at, revision: answer.row.revision })
        return
      case 'cancelled':
        if (life?.version.revision !== answer.removed.revision) {
          this.#journal.violated(10, `a cancel of ${name} removed a row that does not exist`)
          return
        }
        const claim = this.claims[life.shard]!
        const isUnderWay = (attempt: Attempt): boolean =>
          (attempt.claim === claim && attempt.outcome === undefined && attempt.offer === undefined) ||
          this.runsElsewhere(life, attempt)
        if (life.attempts.some(isUnderWay)) {
          this.#journal.violated(4, `${lifeText(life)} was cancelled by its owner during an attempt`)
        }
        this.changes.push({ type: 'cancelled', name, life, at: this.#journal.at, revision: 0 })
        this.#end(life, 'cancelled')
        return
      case 'answered-before':
      case 'below-level':
      case 'conflict':
      case 'expired':
      case 'firing':
      case 'settled':
      case 'unknown':
    }
  }

  /** A cancel of a timer that fires rewrites its row, and the attempt under way still settles it. */
  #noteMoved(life: Life, { revision, details }: TimerRow, process: number): void {
    if (!details.includes('"lastAttempt"')) {
      life.movedAtRevision = revision
      return
    }
    const { lastAttempt } = JSON.parse(details) as { readonly lastAttempt: LastAttempt }
    life.lastAttempt ??= lastAttempt
    life.carried = { process, revision: life.version.revision }
    this.#journal.count('cancelled while it fired')
  }

  #noteSettle(commit: Commit & { name: 'settle' }, process: number): void {
    const [fence, settlement] = commit.args
    const standing = this.#standing[fence.shard]!
    const named = (row: TimerRow): Life | undefined => {
      const life = standing.get(nameKey(row))
      return life?.version.revision === row.revision && life.identity === row.identity ? life : undefined
    }
    const rewritten: [Life, TimerRow, Progress][] = []
    for (const [index, followUp] of settlement.followUps.entries()) {
      const life = named(followUp.row)
      const row = commit.answer.followUps[index]
      if ((life === undefined) !== (row === undefined)) {
        const which = row === undefined ? 'did not rewrite' : 'rewrote a row that is not'
        this.#journal.violated(
          3,
          `a follow-up ${which} the row it was meant for: timer ${followUp.row.identity}`,
        )
      } else if (life !== undefined && row !== undefined) {
        rewritten.push([life, row, followUp])
        if (!isBefore(row, commit.after[fence.shard]!.readLevel) && isOnlyMoved(followUp)) {
          this.#journal.count('put back')
        }
        standing.delete(life.name)
      }
    }
    for (const [index, { row, next }] of settlement.dead.entries()) {
      const life = named(row)
      const { kept, next: goesOn } = commit.answer.dead[index]!
      if ((life !== undefined) !== kept || (goesOn !== undefined) !== (kept && next !== undefined)) {
        this.#journal.violated(1, `a dead letter and its row do not agree: timer ${row.identity}`)
      }
      if (life === undefined) continue
      if (!hasEnded(life, process, 'dead', this.claims[life.shard]!)) {
        this.#journal.violated(1, `${lifeText(life)} became a dead letter but no attempt was reported dead`)
      }
      this.#letters++
      if (next === undefined || goesOn === undefined) this.#end(life, 'dead')
      else {
        this.#journal.count('died and went on')
        rewritten.push([life, goesOn, { ...next, isOfDead: true }])
        standing.delete(life.name)
      }
    }
    const letters = settlement.dead.length === 0 ? this.#letters : this.#inspector.deadLetters().length
    if (letters !== this.#letters) {
      this.#journal.violated(
        1,
        `the store has ${letters} dead letters, but ${this.#letters} occurrences died`,
      )
    }
    for (const row of settlement.done) {
      const life = named(row)
      if (life !== undefined) this.#settled(life, process, 'by name')
    }
    for (const life of standing.values()) {
      if (isBefore(life.version, settlement.level)) this.#settled(life, process, 'by the level')
    }
    for (const [life, row, followUp] of rewritten) {
      standing.set(life.name, life)
      checkFollowUp(this.#journal, life, followUp, process)
      noteSettledAttempts(life, followUp, process)
      life.carried = { process, revision: life.version.revision }
      this.#rewrite(life, row)
    }
  }

  #settled(life: Life, process: number, how: string): void {
    if (!hasEnded(life, process, 'done', this.claims[life.shard]!)) {
      const attempts = life.attempts.map((attempt) => `${attempt.number}:${attempt.outcome?.type ?? 'open'}`)
      this.#journal.violated(
        5,
        `${lifeText(life)} was settled ${how} although no attempt was reported done (attempts: ${attempts.join(' ') || 'none'})`,
      )
    }
    this.#end(life, 'settled')
  }

  #begin(set: SetOperation, version: Omit<Version, 'held'>): void {
    const before = this.lives.get(set.identity)
    const last = before?.at(-1)
    if (last !== undefined && !isTwin(set)) {
      this.#journal.violated(9, `${lifeText(last)} was stored a second time`)
    }
    const life: Life = {
      identity: set.identity,
      name: nameKey(set),
      shard: this.#shardOf(set),
      bornAt: this.#journal.at,
      endedAt: Infinity,
      unexplained: 0,
      version: versionOf(version),
      revisions: new Set([version.revision]),
      movedAtRevision: 0,
      replacedBy: undefined,
      successor: undefined,
      state: 'standing',
      attempts: [],
      deliveries: 0,
      carried: undefined,
      lastAttempt: undefined,
    }
    if (last?.state === 'replaced' && last.name === life.name && before?.length === 1 && isTwin(set)) {
      this.#journal.violated(9, `${lifeText(last)} was replaced by itself`)
    }
    this.#tally.created++
    this.#tally.standing++
    this.#standing[life.shard]!.set(life.name, life)
    if (before === undefined) this.lives.set(set.identity, [life])
    else before.push(life)
  }

  #rewrite(life: Life, row: TimerRow): void {
    const { held, occurrence } = life.version
    life.version = { ...versionOf(row), held: this.#heldOf(row, held) }
    life.revisions.add(row.revision)
    // An offered timer counts as one that fires.
    if (life.version.held?.offer !== undefined && life.version.held !== held) life.deliveries++
    if (held === undefined) {
      if (life.version.held !== undefined) this.#journal.count('handed over')
      return
    }
    if (life.version.held !== undefined || occurrence !== row.occurrence) return
    for (const attempt of life.attempts) {
      if (attempt.offer?.token !== held.offer || attempt.number !== row.attempt || attempt.isSettled) continue
      if (held.offer === undefined) continue
      this.offers.takenBack(life, attempt)
      // The row counts it from now on, whatever its outcome.
      attempt.isSettled = true
    }
    // A holder that is gone may have had the firing without starting it. Nobody can know.
    const isStarted = life.attempts.some(
      (attempt) => attempt.occurrence === occurrence && attempt.number === row.attempt,
    )
    const holder = { member: held.by, life: held.life }
    if (!isStarted && !this.#heartbeats.isHeardSince(holder, held.since, this.#journal.at)) life.unexplained++
  }

  #heldOf({ details }: TimerRow, before: Version['held']): Version['held'] {
    if (!details.includes('"heldBy"')) return undefined
    const { heldBy } = JSON.parse(details) as {
      readonly heldBy: { readonly member: string; readonly life: string; readonly offer?: string }
    }
    const { member: by, life, offer } = heldBy
    const isSame = before?.by === by && before.life === life && before.offer === offer
    return isSame ? before : { by, life, since: this.#journal.at, offer }
  }

  #end(life: Life, state: LifeState): void {
    life.state = state
    life.endedAt = this.#journal.at
    this.#tally[state]++
    this.#journal.count(`ended ${state}`)
    this.#tally.standing--
    this.#standing[life.shard]!.delete(life.name)
  }

  #checkCounts(): void {
    const counts = this.#inspector.counts()
    const tally = this.#tally
    for (const name of ['created', 'settled', 'cancelled', 'replaced', 'dead'] as const) {
      if (counts[name] === tally[name]) continue
      this.#journal.violated('counters', `the store counts ${counts[name]} ${name}, expected ${tally[name]}`)
    }
  }

  #shardOf(name: TimerName): number {
    return shardOf(name, this.#standing.length)
  }
}

/** A committed cancel or move. */
export interface Change {
  readonly type: 'cancelled' | 'moved'
  readonly name: string
  readonly life: Life
  readonly at: number
  readonly revision: number
}

export function nameKey(name: { readonly kind: string; readonly key: string }): string {
  return `${name.kind}/${name.key}`
}

/** Whether the plan submits this set twice. */
function isTwin(set: TimerName): boolean {
  return set.key.startsWith('twin-')
}

function versionOf(row: Omit<Version, 'held'>): Version {
  const { position, revision, dueAt, attempt, occurrence } = row
  return { position, revision, dueAt, attempt, occurrence, held: undefined }
}

/** How the ownership of a shard ended, and when, in true milliseconds since the run began. */
export interface Ending {
  readonly how: 'released' | 'taken'
  readonly at: number
}
