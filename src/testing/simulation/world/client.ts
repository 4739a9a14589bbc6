import { Deadlines } from '../../../async/index.js'
import type { SubmitAnswer } from '../../../engine/index.js'
import { SetColumns, type RequestedOperation } from '../../../store/index.js'
import { StateError, StoreError } from '../../../error/index.js'
import { encodePayload, nameLimits, type TimerName } from '../../../timer/index.js'
import type { Journal } from '../check/journal.js'
import { type Change, type Ledger, nameKey } from '../check/ledger.js'
import { lifeText } from './life.js'
import { type Aim, FIRST_OF_SCENES, type PlannedOperation, type PlannedSet } from '../plan/operation.js'
import { namespace } from '../check/store-inspector.js'
import type { SimulatedProcess } from './simulated-process.js'

/** A submitted operation. Without an answer, its outcome is unknown. */
interface Submission {
  readonly operation: RequestedOperation
  readonly process: SimulatedProcess
  readonly at: number
  answeredAt: number
  answer: SubmitAnswer | undefined
}

const RECURRING = '{"on":"simulated"}'

/** Error codes after which the operation may or may not have happened, or may still happen. */
const openCodes: ReadonlySet<string> = new Set(['unknown-outcome', 'owner-unreachable', 'stopped'])

// Every third call has a timeout, some of them shorter than a call to the store takes.
const LIMITED = 3
const timeoutsMs = [20, 100, 400, 2000, 10_000] as const

/**
 * All clients of a run: they set, move and cancel timers. The class keeps the answer to each call (acknowledged, refused
 * or unknown) and compares it with the commits of the store, when it arrives and at the end.
 */
export class Client {
  readonly #journal: Journal
  readonly #ledger: Ledger
  readonly #submissions: Submission[] = []
  /** The last timer of each name that an answer mentioned. */
  readonly #known = new Map<string, { readonly identity: number; readonly revision: number | undefined }>()
  /** The submission whose answer each committed change belongs to. */
  readonly #answerOfChange = new Map<Change, Submission>()
  /** Identities that the plan submits twice. */
  readonly #submittedTwice = new Set<number>()
  readonly #deadlines = new WeakMap<SimulatedProcess, Deadlines>()

  constructor(journal: Journal, ledger: Ledger) {
    this.#journal = journal
    this.#ledger = ledger
  }

  /** Operations without an answer whose process is alive. */
  get waiting(): readonly Submission[] {
    return this.#submissions.filter(({ answer, process }) => answer === undefined && process.isAlive)
  }

  submit(planned: PlannedOperation, process: SimulatedProcess): void {
    const { action } = planned
    const now = process.plannedNow()
    const timeoutMs = timeoutOf(planned)
    if (action.type === 'set') {
      if (action.again !== undefined)
        for (const { identity } of action.sets) this.#submittedTwice.add(identity)
      // Half of the calls use columns where they can.
      if (planned.id % 2 === 0 && action.sets.every(({ condition }) => condition === 'none')) {
        this.#sendPlain(action.sets, process, timeoutMs)
        return
      }
      const sets = action.sets.map((set) => this.#setOf(set, now))
      this.#send(sets, process, timeoutMs)
      return
    }
    const name = { namespace, kind: action.kind, key: action.key }
    if (action.type === 'read') {
      void this.#read(name, process)
      return
    }
    const aimed = this.#aimed(name, action.aim)
    const change: RequestedOperation =
      action.type === 'cancel'
        ? { type: 'cancel', ...name, ...aimed }
        : { type: 'move', ...name, ...aimed, dueAt: Math.max(0, now + action.dueInMs) }
    this.#send([change], process, timeoutMs)
  }

  /** The answers to all operations on a name so far; undefined for those without one. */
  answersOf(name: { readonly kind: string; readonly key: string }): readonly (SubmitAnswer | undefined)[] {
    const wanted = nameKey(name)
    return this.#submissions.flatMap(({ operation, answer }) =>
      nameKey(operation) === wanted ? [answer] : [],
    )
  }

  /** Checks that need the end of the run: every call is answered, and every acknowledged set was stored. */
  checkEnd(): void {
    for (const submission of this.#submissions) {
      const { operation, answer, process } = submission
      if (answer === undefined) {
        // A process that stops must answer, too. Only a crash excuses it.
        if (!process.gate.isShut) {
          this.#journal.violated('face', `${operation.type} of ${nameKey(operation)} was never answered`)
        }
        continue
      }
      this.#checkAtEnd(submission, answer)
    }
    this.#checkNotDone()
  }

  /** Every committed move and cancel was asked for by a call that was not answered 'not-done'. */
  #checkNotDone(): void {
    const notDone = this.#submissions.filter(({ operation, answer }) => isNotDone(operation, answer))
    for (const { operation } of notDone) {
      const name = nameKey(operation)
      const type = operation.type === 'cancel' ? 'cancelled' : 'moved'
      const commits = this.#ledger.changes.filter((change) => change.name === name && change.type === type)
      const causes = this.#submissions.filter(
        (other) =>
          nameKey(other.operation) === name &&
          // A cancel of a timer that fires is a move to the same time, which ends the timer.
          (other.operation.type === operation.type ||
            (type === 'moved' && other.operation.type === 'cancel')) &&
          mayHaveActed(other.answer),
      )
      if (commits.length <= causes.length) continue
      this.#journal.violated(
        21,
        `${operationText(operation)} was answered not-done, but there are ${commits.length} such commits and only ${causes.length} other calls`,
      )
    }
  }

  /** Submits sets without conditions as columns, one call for each kind, if the engine accepts columns. */
  #sendPlain(planned: readonly PlannedSet[], process: SimulatedProcess, timeoutMs: number | undefined): void {
    const createdAt = process.plannedNow()
    for (const kind of new Set(planned.map((set) => set.kind))) {
      const ofKind = planned.filter((set) => set.kind === kind)
      const sets = new SetColumns({ namespace, kind, createdAt }, ofKind.length, nameLimits.payloadBytes)
      for (const { key, identity, dueInMs } of ofKind) {
        sets.add(key, identity, Math.max(0, createdAt + dueInMs), identity)
      }
      this.#send(sets.operations(), process, timeoutMs, async (operations, limit) => {
        const answers = await (process.engine.submitPlain?.(sets, limit) ??
          process.engine.submit(operations, limit))
        if (!(answers instanceof Float64Array)) return answers
        return Array.from(answers, (revision) => ({ outcome: 'set', revision, replaced: undefined }))
      })
    }
  }

  #send(
    operations: readonly RequestedOperation[],
    process: SimulatedProcess,
    timeoutMs: number | undefined,
    submit: SimulatedProcess['engine']['submit'] = (all, limit) => process.engine.submit(all, limit),
  ): void {
    const submissions = operations.map((operation): Submission => {
      this.#journal.count(operation.type)
      return { operation, process, at: this.#journal.at, answeredAt: Infinity, answer: undefined }
    })
    this.#submissions.push(...submissions)
    this.#journal.log(process.member, () => `submits ${operations.map(operationText).join(', ')}`)
    const isStopping = process.isStopping
    const deadlines = this.#deadlinesOf(process)
    const limit = timeoutMs === undefined ? undefined : deadlines.begin(timeoutMs)
    const submitted = submit(operations, limit).finally(() => {
      if (limit !== undefined) deadlines.end(limit)
    })
    submitted.then(
      (answers) => submissions.forEach((submission, index) => this.#answered(submission, answers[index])),
      (error: unknown) => {
        // An engine that is stopping rejects new operations.
        if (!isStopping) this.#journal.violated('face', `submit rejected: ${String(error)}`)
        for (const submission of submissions)
          this.#submissions.splice(this.#submissions.indexOf(submission), 1)
      },
    )
  }

  #deadlinesOf(process: SimulatedProcess): Deadlines {
    let deadlines = this.#deadlines.get(process)
    if (deadlines === undefined) this.#deadlines.set(process, (deadlines = new Deadlines(process.clock)))
    return deadlines
  }

  #answered(submission: Submission, answer: SubmitAnswer | undefined): void {
    const { operation } = submission
    if (answer === undefined) {
      this.#journal.violated('face', `no answer for ${operationText(operation)}`)
      return
    }
    submission.answer = answer
    submission.answeredAt = this.#journal.at
    this.#journal.count(answer.outcome)
    this.#journal.log(
      submission.process.member,
      () => `answers ${operationText(operation)}: ${answerText(answer)}`,
    )
    this.#learn(operation, answer)
    if (answer.outcome !== 'appended' && answer.outcome !== 'failed') this.#checkOrder(submission)
    switch (answer.outcome) {
      case 'set':
        this.#checkSet(operation, answer.revision)
        this.#acknowledged(submission)
        return
      case 'appended':
        if (operation.type !== 'set' || !this.#ledger.appended.has(operation.identity)) {
          this.#journal.violated(1, `${operationText(operation)} was answered appended but is in no inbox`)
        } else this.#acknowledged(submission)
        return
      case 'cancelled':
        this.#checkChange(submission, 'cancelled')
        return
      case 'moved':
        this.#checkChange(submission, 'moved')
        return
      case 'ending':
        this.#checkChange(submission, 'moved')
        return
      case 'unknown':
        this.#checkUnknown(submission)
        return
      case 'firing':
      case 'conflict':
      case 'settled':
      case 'failed':
    }
  }

  /** 'unknown' is right only if the timer was absent at some moment between the call and the answer. */
  #checkUnknown({ operation, at, answeredAt, process }: Submission): void {
    const { identity } = operation
    if (!this.#ledger.stoodThroughout(nameKey(operation), identity, at, answeredAt)) return
    this.#journal.violated(
      'face',
      `${operationText(operation)}, submitted at ${at} to ${process.member}, was answered unknown although the timer existed all the time`,
    )
  }

  #acknowledged({ operation, answeredAt }: Submission): void {
    const { acknowledged } = this.#ledger
    if (operation.type === 'set' && !acknowledged.has(operation.identity))
      acknowledged.set(operation.identity, answeredAt)
  }

  /** A set that was acknowledged before this operation was submitted must be applied before it. */
  #checkOrder({ operation, at, process }: Submission): void {
    const waiting = this.#acknowledgedBefore(nameKey(operation), at)
    if (waiting === undefined) return
    this.#journal.violated(
      'order',
      `${operationText(operation)}, submitted at ${at} to ${process.member}, was answered before ${operationText(waiting)} was applied, which was acknowledged before`,
    )
  }

  /** A set of this name that was acknowledged before a moment and still waits in the inbox. */
  #acknowledgedBefore(name: string, at: number): RequestedOperation | undefined {
    for (const { operation } of this.#ledger.requests.values()) {
      if (operation.type !== 'set' || nameKey(operation) !== name) continue
      const earlier = this.#ledger.acknowledged.get(operation.identity)
      if (earlier !== undefined && earlier < at) return operation
    }
    return undefined
  }

  /** Reads a timer. What was acknowledged before the read must be in the rows that it sees. */
  async #read(name: TimerName, process: SimulatedProcess): Promise<void> {
    const { at } = this.#journal
    this.#journal.count('read')
    try {
      const row = await process.read(name)
      this.#journal.log(process.member, () => `reads ${nameKey(name)}: ${row?.identity ?? 'nothing'}`)
    } catch (error) {
      // Reads fail while the store or the owner cannot be reached.
      if (!(error instanceof StoreError || error instanceof StateError))
        this.#journal.violated('face', `a read rejected: ${String(error)}`)
      return
    }
    const waiting = this.#acknowledgedBefore(nameKey(name), at)
    if (waiting === undefined) return
    this.#journal.violated(
      17,
      `a read of ${nameKey(name)} at ${process.member}, begun at ${at}, ended before ${operationText(waiting)} was applied, which was acknowledged before`,
    )
  }

  #checkSet(operation: RequestedOperation, revision: number | undefined): void {
    const lives = operation.type === 'set' ? (this.#ledger.lives.get(operation.identity) ?? []) : []
    if (lives.some((life) => revision === undefined || life.revisions.has(revision))) return
    this.#journal.violated(
      1,
      `${operationText(operation)} was answered set at revision ${String(revision)} but is not stored with it`,
    )
  }

  /** An answered change must have been committed since the call, and each commit explains one answer only. */
  #checkChange(submission: Submission, type: Change['type']): void {
    if (this.#matchChange(submission, type, new Set())) return
    this.#journal.violated(
      4,
      `${operationText(submission.operation)} was answered ${type} but no commit did that`,
    )
  }

  /**
   * Matches an answer with a committed change. A change that explains another answer is taken over if that answer can be
   * matched with a different change (augmenting paths).
   */
  #matchChange(submission: Submission, type: Change['type'], tried: Set<Change>): boolean {
    for (const change of this.#ledger.changes) {
      if (change.type !== type || tried.has(change) || !isAnswerTo(submission, change)) continue
      tried.add(change)
      const claimant = this.#answerOfChange.get(change)
      if (claimant !== undefined && !this.#matchChange(claimant, type, tried)) continue
      this.#answerOfChange.set(change, submission)
      return true
    }
    return false
  }

  #checkAtEnd({ operation, at, answeredAt, process }: Submission, answer: SubmitAnswer): void {
    const { outcome } = answer
    if (outcome === 'firing') {
      const isFired = [...this.#ledger.lives.values()]
        .flat()
        .some(
          (life) =>
            life.name === nameKey(operation) &&
            life.bornAt <= answeredAt &&
            life.endedAt >= at &&
            life.deliveries > 0,
        )
      if (!isFired)
        this.#journal.violated(4, `${operationText(operation)} was answered firing but the timer never fired`)
      return
    }
    if (operation.type !== 'set') return
    const life = this.#ledger.life(operation.identity)
    const isWanted = outcome === 'set' || outcome === 'appended'
    const mayConflict = operation.ifAbsent === true || operation.ifRevision !== undefined
    if (isWanted && life === undefined && !(mayConflict && this.#ledger.conflicted.has(operation.identity))) {
      this.#journal.violated(
        1,
        `${operationText(operation)} was acknowledged (${outcome}) at ${at} by ${process.member} and never stored`,
      )
    }
    const isRefused = outcome === 'conflict' || (outcome === 'failed' && !openCodes.has(answer.error.code))
    if (isRefused && life !== undefined && !this.#submittedTwice.has(operation.identity)) {
      this.#journal.violated(
        isNotDoneAnswer(answer) ? 21 : 10,
        `${operationText(operation)} was answered ${answerText(answer)} but was stored: ${lifeText(life)}`,
      )
    }
  }

  #learn(operation: RequestedOperation, answer: SubmitAnswer): void {
    const name = nameKey(operation)
    if (answer.outcome === 'set' && operation.type === 'set') {
      this.#known.set(name, { identity: operation.identity, revision: answer.revision })
    } else if (answer.outcome === 'moved') {
      const identity = this.#known.get(name)?.identity
      if (identity !== undefined) this.#known.set(name, { identity, revision: answer.revision })
    } else if (answer.outcome === 'conflict' && answer.current !== undefined) {
      this.#known.set(name, answer.current)
    }
  }

  #setOf(set: PlannedSet, now: number): RequestedOperation {
    const name = { namespace, kind: set.kind, key: set.key }
    const known = this.#known.get(nameKey(name))
    return {
      type: 'set',
      ...name,
      identity: set.identity,
      createdAt: now,
      payload: encodePayload(set.identity),
      tags: [],
      // Half of the timers can be cancelled while they fire, as those on a schedule.
      details: set.identity % 2 === 0 ? RECURRING : '',
      dueAt: Math.max(0, now + set.dueInMs),
      attempt: 0,
      occurrence: 0,
      ...(set.condition === 'if-absent' ? { ifAbsent: true } : {}),
      ...(set.condition === 'if-revision' && known?.revision !== undefined
        ? { ifRevision: known.revision }
        : {}),
    }
  }

  #aimed(
    name: { readonly kind: string; readonly key: string },
    aim: Aim,
  ): { identity?: number; ifRevision?: number } {
    const known = this.#known.get(nameKey(name))
    if (known === undefined || aim === 'name') return {}
    if (aim === 'identity' || known.revision === undefined) return { identity: known.identity }
    return { ifRevision: known.revision }
  }
}

/**
 * The timeout of a call. It follows from its id, so that a plan with or without timeouts is the same. Scenes ask whether
 * calls work, so theirs have none.
 */
function timeoutOf({ id }: PlannedOperation): number | undefined {
  if (id >= FIRST_OF_SCENES) return undefined
  return id % LIMITED === 0 ? timeoutsMs[Math.floor(id / LIMITED) % timeoutsMs.length] : undefined
}

function isNotDoneAnswer(answer: SubmitAnswer | undefined): boolean {
  return answer?.outcome === 'failed' && answer.error.code === 'not-done'
}

function isNotDone({ type }: RequestedOperation, answer: SubmitAnswer | undefined): boolean {
  return type !== 'set' && isNotDoneAnswer(answer)
}

/** Whether a move or cancel with this answer can have changed something. */
function mayHaveActed(answer: SubmitAnswer | undefined): boolean {
  if (answer === undefined) return true
  if (answer.outcome === 'failed') return openCodes.has(answer.error.code)
  return answer.outcome === 'moved' || answer.outcome === 'cancelled' || answer.outcome === 'ending'
}

function isAnswerTo({ operation, answer, at, answeredAt }: Submission, change: Change): boolean {
  const revision = answer?.outcome === 'moved' ? answer.revision : undefined
  return (
    change.name === nameKey(operation) &&
    change.at >= at &&
    change.at <= answeredAt &&
    (revision === undefined || revision === change.revision) &&
    (operation.identity === undefined || operation.identity === change.life.identity)
  )
}

function operationText(operation: RequestedOperation): string {
  const { type, identity, ifRevision } = operation
  const which = identity === undefined ? '' : ` ${identity}`
  const only = ifRevision === undefined ? '' : ` if r${ifRevision}`
  const due = operation.type === 'cancel' ? '' : ` due ${operation.dueAt}`
  const absent = operation.type === 'set' && operation.ifAbsent === true ? ' if absent' : ''
  return `${type}${which} ${nameKey(operation)}${due}${only}${absent}`
}

function answerText(answer: SubmitAnswer): string {
  if (answer.outcome === 'failed') return `failed, ${answer.error.code}`
  return 'revision' in answer && answer.revision !== undefined
    ? `${answer.outcome} r${answer.revision}`
    : answer.outcome
}
