import type { SubmitAnswer } from '../../engine/index.js'
import { PlainSets, type RequestedOperation } from '../../store/index.js'
import { encodePayload, nameLimits } from '../../timer/index.js'
import type { Journal } from './journal.js'
import { type Change, type Ledger, nameText } from './ledger.js'
import { lifeText } from './life.js'
import type { Aim, PlannedOperation, PlannedSet } from './operation.js'
import { namespace } from './peephole.js'
import type { SimulatedProcess } from './simulated-process.js'

/** An operation that was submitted; without answer it is unknown what became of it. */
interface Submission {
  readonly operation: RequestedOperation
  readonly process: SimulatedProcess
  readonly at: number
  answeredAt: number
  answer: SubmitAnswer | undefined
}

/** Codes of failures that leave open whether the operation was or will be carried out. */
const openCodes: ReadonlySet<string> = new Set(['unknown-outcome', 'owner-unreachable', 'stopped'])

/**
 * Everybody who sets, moves and cancels. It remembers what each call was answered (acknowledged, refused, or
 * not known) and holds every answer against the commits of the store, at once and at the end.
 */
export class Client {
  readonly #journal: Journal
  readonly #ledger: Ledger
  readonly #submissions: Submission[] = []
  /** The last timer of a name that anybody was told of. */
  readonly #known = new Map<string, { readonly identity: number; readonly revision: number | undefined }>()
  /** Whose answer tells of each change. */
  readonly #claimants = new Map<Change, Submission>()
  /** When each set was acknowledged that was put into an inbox, by identity. */
  readonly #appended = new Map<number, number>()
  /** Identities submitted twice on purpose. */
  readonly #twins = new Set<number>()

  constructor(journal: Journal, ledger: Ledger) {
    this.#journal = journal
    this.#ledger = ledger
  }

  /** Operations whose process lives and has not answered. */
  get waiting(): readonly Submission[] {
    return this.#submissions.filter(({ answer, process }) => answer === undefined && process.isAlive)
  }

  submit(planned: PlannedOperation, process: SimulatedProcess): void {
    const { action } = planned
    const now = process.clock.now()
    if (action.type === 'set') {
      if (action.again !== undefined) for (const { identity } of action.sets) this.#twins.add(identity)
      // Every other call brings what it can in columns.
      if (planned.id % 2 === 0 && action.sets.every(({ condition }) => condition === 'none')) {
        this.#sendPlain(action.sets, process)
        return
      }
      this.#send(
        action.sets.map((set) => this.#setOf(set, now)),
        process,
      )
      return
    }
    const name = { namespace, kind: action.kind, key: action.key }
    const aimed = this.#aimed(name, action.aim)
    if (action.type === 'cancel') this.#send([{ type: 'cancel', ...name, ...aimed }], process)
    else this.#send([{ type: 'move', ...name, ...aimed, dueAt: Math.max(0, now + action.dueInMs) }], process)
  }

  /** What must hold when all is calm and everything due has been fired. */
  checkEnd(): void {
    for (const submission of this.#submissions) {
      const { operation, answer, process } = submission
      if (answer === undefined) {
        // One that was stopped owes its answers as well; only a crash ends them.
        if (!process.gate.isShut) {
          this.#journal.broken('face', `${operation.type} of ${nameText(operation)} was never answered`)
        }
        continue
      }
      this.#checkAgain(submission, answer)
    }
  }

  /** Submits sets without conditions, each kind in columns of its own, where the engine takes such. */
  #sendPlain(planned: readonly PlannedSet[], process: SimulatedProcess): void {
    const createdAt = process.clock.now()
    for (const kind of new Set(planned.map((set) => set.kind))) {
      const ofKind = planned.filter((set) => set.kind === kind)
      const sets = new PlainSets({ namespace, kind, createdAt }, ofKind.length, nameLimits.payloadBytes)
      for (const { key, identity, dueInMs } of ofKind) {
        sets.add(key, identity, Math.max(0, createdAt + dueInMs), identity)
      }
      this.#send(sets.operations(), process, async (operations) => {
        const answers = await (process.engine.submitPlain?.(sets) ?? process.engine.submit(operations))
        if (!(answers instanceof Float64Array)) return answers
        return Array.from(answers, (revision) => ({ outcome: 'set', revision, replaced: undefined }))
      })
    }
  }

  #send(
    operations: readonly RequestedOperation[],
    process: SimulatedProcess,
    submit: SimulatedProcess['engine']['submit'] = (all) => process.engine.submit(all),
  ): void {
    const submissions = operations.map((operation): Submission => {
      this.#journal.count(operation.type)
      return { operation, process, at: this.#journal.at, answeredAt: Infinity, answer: undefined }
    })
    this.#submissions.push(...submissions)
    this.#journal.say(process.member, () => `submits ${operations.map(operationText).join(', ')}`)
    const isStopping = process.isStopping
    submit(operations).then(
      (answers) => submissions.forEach((submission, index) => this.#answered(submission, answers[index])),
      (error: unknown) => {
        // Whoever comes to one that is being stopped is told so.
        if (!isStopping) this.#journal.broken('face', `submit rejected: ${String(error)}`)
        for (const submission of submissions)
          this.#submissions.splice(this.#submissions.indexOf(submission), 1)
      },
    )
  }

  #answered(submission: Submission, answer: SubmitAnswer | undefined): void {
    const { operation } = submission
    if (answer === undefined) {
      this.#journal.broken('face', `no answer for ${operationText(operation)}`)
      return
    }
    submission.answer = answer
    submission.answeredAt = this.#journal.at
    this.#journal.count(answer.outcome)
    this.#journal.say(
      submission.process.member,
      () => `answers ${operationText(operation)}: ${answerText(answer)}`,
    )
    this.#learn(operation, answer)
    if (answer.outcome !== 'appended' && answer.outcome !== 'failed') this.#checkOrder(submission)
    switch (answer.outcome) {
      case 'set':
        this.#checkSet(operation, answer.revision)
        return
      case 'appended':
        if (operation.type !== 'set' || !this.#ledger.appended.has(operation.identity)) {
          this.#journal.broken(1, `${operationText(operation)} was answered appended and is in no inbox`)
        } else if (!this.#appended.has(operation.identity)) {
          this.#appended.set(operation.identity, submission.answeredAt)
        }
        return
      case 'cancelled':
        this.#checkChange(submission, 'cancelled')
        return
      case 'moved':
        this.#checkChange(submission, 'moved')
        return
      case 'firing':
      case 'conflict':
      case 'unknown':
      case 'settled':
      case 'failed':
    }
  }

  /** What was acknowledged before an operation was asked for comes before it. */
  #checkOrder({ operation, at, process }: Submission): void {
    const name = nameText(operation)
    for (const { operation: requested } of this.#ledger.requests.values()) {
      if (requested.type !== 'set' || nameText(requested) !== name) continue
      const earlier = this.#appended.get(requested.identity)
      if (earlier === undefined || earlier >= at) continue
      this.#journal.broken(
        'order',
        `${operationText(operation)} asked for at ${at} of ${process.member} was answered before ${operationText(requested)} was carried out, which was acknowledged at ${earlier}`,
      )
    }
  }

  #checkSet(operation: RequestedOperation, revision: number | undefined): void {
    const lives = operation.type === 'set' ? (this.#ledger.lives.get(operation.identity) ?? []) : []
    if (lives.some((life) => revision === undefined || life.revisions.has(revision))) return
    this.#journal.broken(
      1,
      `${operationText(operation)} was answered set at revision ${String(revision)} and is not stored so`,
    )
  }

  /** A change was answered: it must have been committed since it was asked for, and for nobody else. */
  #checkChange(submission: Submission, type: Change['type']): void {
    if (this.#claim(submission, type, new Set())) return
    this.#journal.broken(4, `${operationText(submission.operation)} was answered ${type}, which nobody did`)
  }

  /** Finds a change for an answer; one that stands for another answer is taken if that finds another. */
  #claim(submission: Submission, type: Change['type'], tried: Set<Change>): boolean {
    for (const change of this.#ledger.changes) {
      if (change.type !== type || tried.has(change) || !isAnswerTo(submission, change)) continue
      tried.add(change)
      const claimant = this.#claimants.get(change)
      if (claimant !== undefined && !this.#claim(claimant, type, tried)) continue
      this.#claimants.set(change, submission)
      return true
    }
    return false
  }

  #checkAgain({ operation, at, answeredAt, process }: Submission, answer: SubmitAnswer): void {
    const { outcome } = answer
    if (outcome === 'firing') {
      const isFired = [...this.#ledger.lives.values()]
        .flat()
        .some(
          (life) =>
            life.name === nameText(operation) &&
            life.bornAt <= answeredAt &&
            life.endedAt >= at &&
            life.attempts.length > 0,
        )
      if (!isFired)
        this.#journal.broken(4, `${operationText(operation)} was answered firing, and it never fired`)
      return
    }
    if (operation.type !== 'set') return
    const life = this.#ledger.life(operation.identity)
    const isWanted = outcome === 'set' || outcome === 'appended'
    const mayConflict = operation.ifAbsent === true || operation.ifRevision !== undefined
    if (isWanted && life === undefined && !(mayConflict && this.#ledger.conflicted.has(operation.identity))) {
      this.#journal.broken(
        1,
        `${operationText(operation)} was acknowledged (${outcome}) at ${at} by ${process.member} and never stored`,
      )
    }
    const isRefused = outcome === 'conflict' || (outcome === 'failed' && !openCodes.has(answer.error.code))
    if (isRefused && life !== undefined && !this.#twins.has(operation.identity)) {
      this.#journal.broken(
        10,
        `${operationText(operation)} was answered ${answerText(answer)} and stored: ${lifeText(life)}`,
      )
    }
  }

  #learn(operation: RequestedOperation, answer: SubmitAnswer): void {
    const name = nameText(operation)
    if (answer.outcome === 'set' && operation.type === 'set') {
      this.#known.set(name, { identity: operation.identity, revision: answer.revision })
    } else if (answer.outcome === 'moved') {
      const identity = this.#known.get(name)?.identity
      if (identity !== undefined) this.#known.set(name, { identity, revision: answer.revision })
    } else if (answer.outcome === 'conflict' && answer.standing !== undefined) {
      this.#known.set(name, answer.standing)
    }
  }

  #setOf(set: PlannedSet, now: number): RequestedOperation {
    const name = { namespace, kind: set.kind, key: set.key }
    const known = this.#known.get(nameText(name))
    return {
      type: 'set',
      ...name,
      identity: set.identity,
      createdAt: now,
      payload: encodePayload(set.identity),
      tags: [],
      details: '',
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
    const known = this.#known.get(nameText(name))
    if (known === undefined || aim === 'name') return {}
    if (aim === 'identity' || known.revision === undefined) return { identity: known.identity }
    return { ifRevision: known.revision }
  }
}

function isAnswerTo({ operation, answer, at, answeredAt }: Submission, change: Change): boolean {
  const revision = answer?.outcome === 'moved' ? answer.revision : undefined
  return (
    change.name === nameText(operation) &&
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
  return `${type}${which} ${nameText(operation)}${due}${only}${absent}`
}

function answerText(answer: SubmitAnswer): string {
  if (answer.outcome === 'failed') return `failed, ${answer.error.code}`
  return 'revision' in answer && answer.revision !== undefined
    ? `${answer.outcome} r${answer.revision}`
    : answer.outcome
}
