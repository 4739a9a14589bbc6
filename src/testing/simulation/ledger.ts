import type { FollowUp, Operation, OperationAnswer, Request, SetOperation } from '../../store/index.js'
import { isBefore, type Outcome, shardOf, type TimerName, type TimerRow } from '../../timer/index.js'
import type { Commit } from './commit.js'
import type { Journal } from './journal.js'
import { endedAttempts, hasEnded, type Life, lifeText, type LifeState, type Version } from './life.js'
import type { Peephole } from './peephole.js'

/**
 * The truth about every timer, told by the store's commits alone and kept apart from the store: which lives
 * there were, which stand, how each ended and whether it was allowed to end like that. It believes no engine.
 */
export class Ledger {
  /** All lives of an identity, the last one last. */
  readonly lives = new Map<number, Life[]>()
  /** Requests in the inboxes, in the order of arrival. */
  readonly requests = new Map<string, Request>()
  /** Identities whose set was appended to an inbox, whether or not it was applied since. */
  readonly appended = new Set<number>()
  /** Identities whose requested set was refused because its condition did not hold. */
  readonly conflicted = new Set<number>()
  /** Cancels and moves as they were committed, to compare answers with. */
  readonly changes: Change[] = []
  /** How often each shard was claimed. */
  readonly claims: number[]
  /** How often each shard was taken from an owner that had not let go, and when last by the store's clock. */
  readonly takeovers: number[]
  readonly lastTakeoverAt: number[]
  readonly #standing: Map<string, Life>[]
  /** Lives that were replaced by a write that its process has not heard of. */
  #unheard: Life[] = []
  readonly #journal: Journal
  readonly #peephole: Peephole
  /** Dead letters that were kept. */
  #letters = 0
  readonly #tally: Record<LifeState | 'created', number> = {
    created: 0,
    standing: 0,
    settled: 0,
    cancelled: 0,
    replaced: 0,
    dead: 0,
  }

  constructor(shardCount: number, journal: Journal, peephole: Peephole) {
    this.#standing = Array.from({ length: shardCount }, () => new Map<string, Life>())
    this.claims = Array.from({ length: shardCount }, () => 0)
    this.takeovers = Array.from({ length: shardCount }, () => 0)
    this.lastTakeoverAt = Array.from({ length: shardCount }, () => 0)
    this.#journal = journal
    this.#peephole = peephole
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
    if (commit.name === 'claim') this.#noteClaim(commit)
    if (commit.name === 'append') {
      for (const [index, request] of commit.args[0].entries()) {
        if (commit.answer[index] === 'appended') this.#noteAppended(request)
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

  /** A process heard of its write to a shard: it knows what that, and any before, replaced. */
  heardWrite(process: number, shard: number): void {
    this.#unheard = this.#unheard.filter((life) => {
      if (life.replacedBy !== process || life.shard !== shard) return true
      life.replacedBy = undefined
      return false
    })
  }

  #noteClaim(commit: Commit & { name: 'claim' }): void {
    const { shard } = commit.args[0]
    if (commit.answer === undefined || commit.before[shard]!.epoch === commit.after[shard]!.epoch) return
    this.claims[shard]!++
    if (commit.before[shard]!.owner === '') return
    this.takeovers[shard]!++
    this.lastTakeoverAt[shard] = commit.after[shard]!.suspects.dueUntil
  }

  #noteAppended(request: Request): void {
    this.requests.set(request.id, request)
    if (request.operation.type === 'set') this.appended.add(request.operation.identity)
  }

  #noteOperation(operation: Operation, answer: OperationAnswer, process: number): void {
    const { outcome } = answer
    if (operation.request !== undefined && outcome !== 'below-level' && outcome !== 'answered-before') {
      if (!this.requests.delete(operation.request)) {
        this.#journal.broken(9, `request ${operation.request} was applied twice`)
      }
    }
    if (operation.type === 'answer') return
    if (operation.type === 'set' && outcome === 'conflict') this.conflicted.add(operation.identity)
    const name = nameText(operation)
    const standing = this.#standing[this.#shardOf(operation)]!
    const life = standing.get(name)
    switch (outcome) {
      case 'set':
        if (life !== undefined) {
          this.#end(life, 'replaced')
          life.replacedBy = process
          this.#unheard.push(life)
        }
        if (operation.type === 'set') this.#begin(operation, { ...operation, ...answer.place })
        return
      case 'same':
        if (operation.type === 'set' && life?.identity !== operation.identity) {
          this.#journal.broken(
            9,
            `a set of timer ${operation.identity} was taken for one that does not stand`,
          )
        }
        return
      case 'moved':
        if (life?.identity !== answer.row.identity || life.version.revision !== answer.from.revision) {
          this.#journal.broken(10, `a move of ${name} hit a row that does not stand`)
          return
        }
        life.movedAtRevision = answer.row.revision
        this.#rewrite(life, answer.row)
        this.changes.push({ type: 'moved', name, life, at: this.#journal.at, revision: answer.row.revision })
        return
      case 'cancelled':
        if (life?.version.revision !== answer.removed.revision) {
          this.#journal.broken(10, `a cancel of ${name} hit a row that does not stand`)
          return
        }
        const claim = this.claims[life.shard]!
        if (life.attempts.some((attempt) => attempt.claim === claim && attempt.outcome === undefined)) {
          this.#journal.broken(4, `${lifeText(life)} was cancelled by its owner in the middle of an attempt`)
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

  #noteSettle(commit: Commit & { name: 'settle' }, process: number): void {
    const [fence, settlement] = commit.args
    const standing = this.#standing[fence.shard]!
    const named = (row: TimerRow): Life | undefined => {
      const life = standing.get(nameText(row))
      return life?.version.revision === row.revision && life.identity === row.identity ? life : undefined
    }
    const rewritten: [Life, TimerRow, Progress][] = []
    for (const [index, followUp] of settlement.followUps.entries()) {
      const life = named(followUp.row)
      const row = commit.answer.followUps[index]
      if ((life === undefined) !== (row === undefined)) {
        const which = row === undefined ? 'was not carried out on' : 'hit what was not'
        this.#journal.broken(
          3,
          `a follow-up ${which} the row it was meant for: timer ${followUp.row.identity}`,
        )
      } else if (life !== undefined && row !== undefined) {
        rewritten.push([life, row, followUp])
        if (!isBefore(row, commit.after[fence.shard]!.readLevel) && isAsBefore(followUp)) {
          this.#journal.count('put back')
        }
        standing.delete(life.name)
      }
    }
    for (const [index, { row, next }] of settlement.dead.entries()) {
      const life = named(row)
      const { kept, next: goesOn } = commit.answer.dead[index]!
      if ((life !== undefined) !== kept || (goesOn !== undefined) !== (kept && next !== undefined)) {
        this.#journal.broken(1, `a dead letter and its row do not agree: timer ${row.identity}`)
      }
      if (life === undefined) continue
      if (!hasEnded(life, process, 'dead')) {
        this.#journal.broken(1, `${lifeText(life)} became a dead letter without having been told so`)
      }
      this.#letters++
      if (next === undefined || goesOn === undefined) this.#end(life, 'dead')
      else {
        this.#journal.count('died and went on')
        rewritten.push([life, goesOn, { ...next, isOfDead: true }])
        standing.delete(life.name)
      }
    }
    const letters = settlement.dead.length === 0 ? this.#letters : this.#peephole.deadLetters().length
    if (letters !== this.#letters) {
      this.#journal.broken(1, `there are ${letters} dead letters, ${this.#letters} occurrences died`)
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
      this.#checkFollowUp(life, followUp, process)
      this.#rewrite(life, row)
    }
  }

  #settled(life: Life, process: number, how: string): void {
    if (!hasEnded(life, process, 'done')) {
      const attempts = life.attempts.map((attempt) => `${attempt.number}:${attempt.outcome?.type ?? 'open'}`)
      this.#journal.broken(
        5,
        `${lifeText(life)} was settled ${how} though no attempt was reported done (attempts: ${attempts.join(' ') || 'none'})`,
      )
    }
    this.#end(life, 'settled')
  }

  #checkFollowUp(life: Life, followUp: Progress, process: number): void {
    const { version } = life
    const ended = endedAttempts(life, process)
    const isNext = followUp.occurrence !== version.occurrence
    const isExplained = isNext
      ? followUp.occurrence === version.occurrence + 1 &&
        ended.some(({ outcome }) => nextDueAt(outcome, followUp.isOfDead === true) === followUp.dueAt)
      : followUp.dueAt === version.dueAt ||
        ended.some(({ outcome }) => outcome?.type === 'retry' && outcome.dueAt === followUp.dueAt)
    if (!isExplained) {
      this.#journal.broken(
        11,
        `${lifeText(life)} got a follow-up that nobody asked for: due ${followUp.dueAt}, occurrence ${followUp.occurrence}`,
      )
    }
    if (!isNext && followUp.attempt < version.attempt) {
      this.#journal.broken(11, `${lifeText(life)} was set back to attempt ${followUp.attempt}`)
    }
  }

  #begin(set: SetOperation, version: Version): void {
    const before = this.lives.get(set.identity)
    const last = before?.at(-1)
    if (last !== undefined && !isTwin(set)) {
      this.#journal.broken(9, `${lifeText(last)} was stored a second time`)
    }
    const life: Life = {
      identity: set.identity,
      name: nameText(set),
      shard: this.#shardOf(set),
      bornAt: this.#journal.at,
      endedAt: Infinity,
      takeoversAtBirth: this.takeovers[this.#shardOf(set)]!,
      version: versionOf(version),
      revisions: new Set([version.revision]),
      movedAtRevision: 0,
      replacedBy: undefined,
      state: 'standing',
      attempts: [],
    }
    if (last?.state === 'replaced' && last.name === life.name && before?.length === 1 && isTwin(set)) {
      this.#journal.broken(9, `${lifeText(last)} was replaced by itself`)
    }
    this.#tally.created++
    this.#tally.standing++
    this.#standing[life.shard]!.set(life.name, life)
    if (before === undefined) this.lives.set(set.identity, [life])
    else before.push(life)
  }

  #rewrite(life: Life, row: TimerRow): void {
    life.version = versionOf(row)
    life.revisions.add(row.revision)
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
    const counts = this.#peephole.counts()
    const tally = this.#tally
    for (const name of ['created', 'settled', 'cancelled', 'replaced', 'dead'] as const) {
      if (counts[name] === tally[name]) continue
      this.#journal.broken('counters', `the store counts ${counts[name]} ${name}, there were ${tally[name]}`)
    }
  }

  #shardOf(name: TimerName): number {
    return shardOf(name, this.#standing.length)
  }
}

/** How a row goes on; `isOfDead` when the occurrence that stood there became a dead letter. */
type Progress = Omit<FollowUp, 'row'> & { readonly isOfDead?: boolean }

/** When the occurrence after this one is due, as far as its receiver said so. */
function nextDueAt(outcome: Outcome | undefined, isOfDead: boolean): number | undefined {
  if (isOfDead) return outcome?.type === 'dead' ? outcome.next?.dueAt : undefined
  return outcome?.type === 'next' ? outcome.dueAt : undefined
}

/** A cancel or move that was committed. */
export interface Change {
  readonly type: 'cancelled' | 'moved'
  readonly name: string
  readonly life: Life
  readonly at: number
  readonly revision: number
}

export function nameText(name: { readonly kind: string; readonly key: string }): string {
  return `${name.kind}/${name.key}`
}

/** Whether the same set is submitted twice on purpose. */
function isTwin(set: TimerName): boolean {
  return set.key.startsWith('twin-')
}

function versionOf({ position, revision, dueAt, attempt, occurrence }: Version): Version {
  return { position, revision, dueAt, attempt, occurrence }
}

function isAsBefore({ row, dueAt, attempt, occurrence }: FollowUp): boolean {
  return dueAt === row.dueAt && attempt === row.attempt && occurrence === row.occurrence
}
