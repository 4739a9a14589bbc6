/**
 * A mutant breaks one rule of the protocol on purpose. `npm run sim:mutants` applies its patches to a copy of the
 * library and looks for a seed that notices.
 */
export interface Mutant {
  readonly name: string
  readonly patches: readonly Patch[]
  /** A test that fails with it, for a case that seeds hardly ever meet. `npm run sim:mutants` runs the test. */
  readonly test?: string
  /** Why seeds hardly ever meet the case. */
  readonly rare?: string
}

interface Patch {
  /** Relative to src/. */
  readonly file: string
  /** A text that occurs exactly once in the file. */
  readonly find: string
  readonly replace: string
}

const shard = 'store/memory/memory-shard.ts'
const shardRow = 'store/shard-row.ts'

/** Writes and settlements do not wait for each other. */
const noTurns: Patch = {
  file: 'engine/write/writer.ts',
  find: 'const finish = await mutex.lock()\n      try {\n        if (this.#isOver) throw',
  replace: 'const finish = (): void => undefined\n      try {\n        if (this.#isOver) throw',
}

/** The store accepts an insert below the settled level. */
const noStoreFloor: Patch = {
  file: shard,
  find: 'return position < this.#row.settledLevel.position',
  replace: 'return position < 0',
}

/** A process that does not own the shard writes these operations itself, without the inbox. */
function writeDirectly(type: 'set' | 'cancel'): Patch {
  return {
    file: 'engine/write/submitter.ts',
    find: 'if (engine === undefined) return await ownerRouter.ask(shard, operations, limit)',
    replace: `if (engine === undefined && operations.every((operation) => operation.type === '${type}')) {
      const row = (await this.#parts.store.shards())[shard]
      const position = (operation) => Math.max(operation.dueAt ?? 0, row.settledLevel.position)
      try {
        const { answers } = await this.#parts.store.write(row, {
          operations: operations.map((operation) => ({ ...operation, position: position(operation) })),
        })
        return answers.map((answer) =>
          answer.outcome === 'set' ? { outcome: 'set', revision: answer.place.revision, replaced: answer.replaced }
          : answer.outcome === 'conflict' || answer.outcome === 'cancelled' ? { outcome: answer.outcome }
          : { outcome: 'unknown' })
      } catch (error) {
        return operations.map(() => ({ outcome: 'failed', error: new LimitError('unknown-outcome', String(error)) }))
      }
    }
    if (engine === undefined) return await ownerRouter.ask(shard, operations, limit)`,
  }
}

export const mutants: readonly Mutant[] = [
  // ---- rule 1: every write of an owner is fenced
  {
    name: 'settle does not check the fence',
    patches: [
      {
        file: shard,
        find: 'settlement: Settlement, now: number): SettleAnswer {\n    this.checkFence(fence)',
        replace: 'settlement: Settlement, now: number): SettleAnswer {',
      },
    ],
  },
  {
    name: 'sweep does not check the fence',
    patches: [
      {
        file: shard,
        find: 'sweep(fence: Fence, below: Place = lastPlace): Swept {\n    this.checkFence(fence)',
        replace: 'sweep(fence: Fence, below: Place = lastPlace): Swept {\n    void fence',
      },
    ],
  },
  {
    name: 'write does not check the fence',
    patches: [
      {
        file: shard,
        find: 'if (fence !== undefined) this.checkFence(fence)',
        replace: 'void fence',
      },
    ],
  },
  // ---- rule 2: reading and promising is one step
  {
    name: 'a load reads rows and raises the read level in two steps',
    patches: [
      {
        file: 'store/memory/memory-store.ts',
        find: "return this.#onShard('load', fence.shard, (shard) => shard.load(fence, request))",
        replace: `return this.#onShard('load', fence.shard, (shard) => shard.scan(fence, request)).then((loaded) =>
      this.#onShard('now', fence.shard, (shard) => shard.raise(fence, loaded)))`,
      },
      {
        file: shard,
        find: '  load(fence: Fence, request: LoadRequest): Loaded {',
        replace: `  scan(fence, request) {
    const row = this.#row
    const loaded = this.load(fence, request)
    this.#row = row
    return loaded
  }

  raise(fence, loaded) {
    this.checkFence(fence)
    this.#row = { ...this.#row, readLevel: loaded.readLevel }
    return loaded
  }

  load(fence: Fence, request: LoadRequest): Loaded {`,
      },
    ],
  },
  {
    name: 'the window shrinks and the read level stays',
    patches: [
      {
        file: 'engine/load/loader.ts',
        find: "await ownership.call('lower', (fence) => store.lower(fence, from, to))\n    } catch",
        replace: 'void from\n    } catch',
      },
      {
        file: 'engine/load/loader.ts',
        find: 'this.readLevel = to\n',
        replace: 'void to\n',
      },
    ],
  },
  {
    name: 'a page whose answer was lost is not loaded again',
    patches: [
      {
        file: 'engine/load/loader.ts',
        find: 'await this.#goBack(from)',
        replace: 'this.readLevel = ownership.row.readLevel',
      },
    ],
  },
  // ---- rule 3: only the owner writes timers
  { name: 'a non-owner writes a set directly', patches: [writeDirectly('set')] },
  { name: 'a non-owner writes a cancel directly', patches: [writeDirectly('cancel')] },
  {
    name: 'a request stays in the inbox after it was applied',
    patches: [
      {
        file: shard,
        find: "if (answer.outcome !== 'below-level') this.inbox.answer(request, answer.outcome)",
        replace: 'void request',
      },
    ],
  },
  // ---- promises 16 to 18: from anywhere
  {
    name: 'a set of a taken name is acknowledged in the inbox',
    patches: [
      {
        file: shard,
        find: 'return isAlone && this.#find(operation) === NONE',
        replace: 'return isAlone',
      },
    ],
  },
  {
    name: 'a set behind another set of its name is acknowledged in the inbox',
    patches: [
      {
        file: shard,
        find: 'const isAlone = this.inbox.get(id) !== undefined && this.inbox.countOf(operation) === 1',
        replace: 'const isAlone = this.inbox.get(id) !== undefined',
      },
    ],
  },
  {
    name: 'a timer that was set past the inbox starts at once',
    patches: [
      {
        file: 'engine/write/inbox-holds.ts',
        find: 'this.#parts.startHolds.holdName(name)',
        replace: 'void name',
      },
    ],
  },
  {
    name: 'a timer that a request replaces starts while the write is under way',
    patches: [
      {
        file: 'engine/write/batch-sender.ts',
        find: 'for (const { asked } of replacing) startHolds.holdName(asked)',
        replace: '',
      },
    ],
  },
  {
    name: 'requests for held timers wait for room in memory',
    rare: 'memory must be full of held timers',
    patches: [
      {
        file: 'engine/write/writer.ts',
        find: 'task.request !== undefined && inboxHolds.isHeld(task.asked)',
        replace: 'task.request !== undefined && false',
      },
    ],
  },
  {
    name: 'a read does not wait for acknowledged sets',
    patches: [
      {
        file: 'engine/owner-engine.ts',
        find: 'if (this.#holdsAll) return\n    const busy',
        replace: 'if (this.#shards.size >= 0) return\n    const busy',
      },
    ],
  },
  {
    name: 'a barrier is answered before the requests that came before it',
    patches: [
      {
        file: 'engine/write/inbox.ts',
        find: 'if (fresh.length > 0) await this.#applyBesideReports(fresh)',
        replace:
          'const early = requests.filter(isBarrier)\n      if (early.length > 0) await this.#answerBarriers(early)',
      },
      {
        file: 'engine/write/inbox.ts',
        find: 'if (barriers.length > 0) await this.#answerBarriers(barriers)',
        replace: 'if (fresh.length > 0) await this.#applyBesideReports(fresh)',
      },
    ],
  },
  {
    name: 'nobody applies the inbox of a shard without an owner',
    patches: [
      {
        file: 'engine/own/idle-shard-visitor.ts',
        find: 'if (!this.#parts.mayVisit()) return false\n    try',
        replace: 'if (this.#visits.size >= 0) return false\n    try',
      },
    ],
  },
  {
    name: 'a visit ends only when the inbox is empty',
    test: 'test/engine/from-anywhere.test.ts',
    patches: [
      {
        file: 'engine/own/idle-shard-visitor.ts',
        find: 'while (visit.isApplied === undefined && !this.#mustEnd(begunAt))',
        replace: 'while (visit.isApplied === undefined)',
      },
    ],
  },
  {
    name: 'a visit that ends still applies the inbox',
    test: 'test/engine/from-anywhere.test.ts',
    rare: 'it lasts for stopMs at most, which is short in the simulator',
    patches: [
      {
        file: 'engine/shard-engine.ts',
        find: 'this.#inbox.stop()\n    this.#writer.leaveRequests()\n    return this.stop()',
        replace: 'return this.stop()',
      },
    ],
  },
  {
    name: 'a visit that ends answers barriers behind requests that it has left',
    test: 'test/engine/from-anywhere.test.ts',
    rare: 'few reads wait while a visit ends',
    patches: [
      {
        file: 'engine/write/inbox.ts',
        find: "if (this.#isOver) return 'none'",
        replace: '',
      },
    ],
  },
  {
    name: 'an instance that starts keeps a shard that it took for a moment',
    rare: 'an instance must start just while it visits a shard',
    patches: [
      {
        file: 'engine/owner-engine.ts',
        find: 'await this.#visitor.stop()\n    if (this.#isStopping) return',
        replace: '',
      },
    ],
  },
  {
    name: 'rows that are due before the tick of the wheel wait for the clock to catch up',
    test: 'test/engine/window.test.ts',
    rare: 'an owner must acquire a shard just while the clock is ahead',
    patches: [
      {
        file: 'engine/load/window.ts',
        find: 'return tick <= this.#wheel.tick ? 0 : tick + this.#baseMs',
        replace: 'return tick + this.#baseMs',
      },
    ],
  },
  // ---- rule 4: the owner's inserts have a floor
  {
    name: 'operations are written without the floor',
    patches: [
      noStoreFloor,
      {
        file: 'engine/load/loader.ts',
        find: 'return Math.max(this.#parts.ownership.settledLevel.position, this.soonest)',
        replace: 'return 0',
      },
    ],
  },
  {
    name: 'a new row below the read level is not kept in memory',
    patches: [
      {
        file: 'engine/write/memory-updater.ts',
        find: 'else this.#keepSet(set, { position: set.position, revision }, readLevel)',
        replace: 'else void revision',
      },
    ],
  },
  {
    name: 'plain sets are written without the floor',
    patches: [
      noStoreFloor,
      {
        file: 'engine/write/batch-sender.ts',
        find: 'new SetColumnsWrite(task.columns, loader.floor, !task.mayPassInbox)',
        replace: 'new SetColumnsWrite(task.columns, 0, !task.mayPassInbox)',
      },
    ],
  },
  {
    name: 'a plain set below the read level is not kept in memory',
    patches: [
      {
        file: 'engine/write/memory-updater.ts',
        find: 'if (isBefore(place, readLevel)) this.#window.addRow(sets.row(indexes[at]!, place))',
        replace: 'if (isBefore(place, readLevel)) void sets',
      },
    ],
  },
  { name: 'writes and settlements overlap, and the store has no floor', patches: [noStoreFloor, noTurns] },
  { name: 'writes and settlements overlap', patches: [noTurns] },
  // ---- rule 5: an unknown outcome is fenced, then looked up
  {
    name: 'a call of unknown outcome is sent again without a new epoch',
    patches: [
      {
        file: 'engine/own/ownership.ts',
        find: 'if (fence.epoch === this.#fence.epoch) await this.#refence()',
        replace: 'if (this.#isOver) await this.#refence()',
      },
    ],
  },
  {
    name: 'a settlement of unknown outcome counts as not stored',
    patches: [
      {
        file: 'engine/settle/settler.ts',
        find: 'if (ownership.row.lastSettlement === settlement.id) {',
        replace: 'if (settlement.id === 0) {',
      },
    ],
  },
  // ---- rule 6: takeover, lease and time
  {
    name: 'takeover from the read level',
    patches: [{ file: shardRow, find: 'readLevel: row.settledLevel,', replace: 'readLevel: row.readLevel,' }],
  },
  {
    name: 'the lease is counted from the answer to the renewal',
    patches: [
      {
        file: 'engine/own/ownership.ts',
        find: 'this.#leaseFrom(sentAt, row)\n      this.#onLeased()',
        replace: 'this.#leaseFrom(this.#reading(), row)\n      void sentAt\n      this.#onLeased()',
      },
    ],
  },
  {
    name: 'the lease of a raised epoch is counted from the last retry',
    patches: [
      {
        file: 'engine/own/ownership.ts',
        find: 'const sentAt = this.#reading()\n    for (let tries = 0; !this.#isOver; tries++) {',
        replace: 'for (let tries = 0; !this.#isOver; tries++) {\n      const sentAt = this.#reading()',
      },
    ],
  },
  {
    name: 'timers start although the lease is over',
    patches: [
      {
        file: 'engine/own/ownership.ts',
        find: 'return this.isLeased && this.#isClockRight()',
        replace: 'return !this.#isOver && this.#isClockRight()',
      },
    ],
  },
  {
    name: 'a shard is acquired before its lease is over',
    patches: [
      {
        file: shardRow,
        find: "(row.owner !== '' && row.leaseUntil > now)) return undefined",
        replace: 'now < 0) return undefined',
      },
    ],
  },
  // ---- rule 7: settle in one write
  {
    name: 'a follow-up is written although its row was replaced',
    patches: [
      {
        file: shard,
        find: 'if (slot === NONE || this.rows.revision(slot) !== row.revision) return undefined',
        replace: 'if (slot === NONE) return undefined',
      },
      {
        file: 'engine/write/memory-updater.ts',
        find: 'if (attempt !== undefined) attempt.isSuperseded = true',
        replace: 'void attempt',
      },
    ],
  },
  {
    name: 'a dead letter is stored after its row was deleted',
    patches: [
      {
        file: shard,
        find: 'this.#records.addDead(letter)',
        replace: 'queueMicrotask(() => this.#records.addDead(letter))',
      },
    ],
  },
  {
    name: 'the next occurrence after a dead one is written without the dead letter',
    patches: [
      {
        file: 'engine/settle/settlement-builder.ts',
        find: "if (report.outcome.type === 'dead') {\n        const",
        replace: `if (report.outcome.type === 'dead' && report.outcome.next !== undefined) {
        const { row } = report.attempt
        const next = progressOfNext(row, report.outcome.next)
        followUps.push({ row, ...placed(next, level.position, loader.soonest) })
      } else if (report.outcome.type === 'dead') {
        const`,
      },
      {
        file: 'engine/settle/settler.ts',
        find: "const row = outcome.type === 'dead' ?",
        replace: "const row = outcome.type === 'dead' && outcome.next === undefined ?",
      },
    ],
  },
  {
    name: 'a dead letter and its next occurrence are stored in two writes',
    patches: [
      {
        file: shard,
        find: 'next: letter.next && this.#putFollowUp(row, letter.next)',
        replace: `next: letter.next && ((next) => {
        const put = (): TimerRow => this.#putFollowUp(row, next)
        setTimeout(put)
        return { ...row, ...next, revision: this.#lastRevision + 1 }
      })(letter.next)`,
      },
    ],
  },
  {
    name: 'the next occurrence after a dead one is not kept in memory',
    patches: [
      {
        file: 'engine/settle/settler.ts',
        find: 'answer.dead[deadIndex++]?.next :',
        replace: '(deadIndex++, undefined) :',
      },
    ],
  },
  {
    name: 'the next occurrence after a dead one is not looked up',
    test: 'test/engine/follow-ups.test.ts',
    rare: 'the answer to a settlement with a dead letter must be lost',
    patches: [
      {
        file: 'engine/settle/settler.ts',
        find: '({ kept: true, next: rows[first + index] })',
        replace: '({ kept: index < 0 || first >= 0, next: undefined })',
      },
    ],
  },
  {
    name: 'the settled level passes unfinished rows',
    patches: [
      {
        file: 'engine/settle/settlement-builder.ts',
        find: 'if (holding !== undefined) level = earlierOf(level, holding)',
        replace: 'void holding',
      },
    ],
  },
  {
    name: 'a row is put back below the read level and forgotten',
    patches: [
      {
        file: 'engine/load/put-back.ts',
        find: 'const position = Math.max(readPosition, now',
        replace: 'const position = Math.min(readPosition - 1, now',
      },
      {
        file: 'engine/settle/settler.ts',
        find: 'counts.putBack++\n      loader.keep(row, answer.readLevel)',
        replace: 'counts.putBack++',
      },
    ],
  },
  {
    name: 'a row that was put back can still start',
    patches: [
      {
        file: 'engine/settle/settler.ts',
        find: 'this.#window.remove(attempt.token)\n      attempt.isSuperseded = true',
        replace: 'this.#window.stay(attempt.token, READY)\n      attempts.enqueue(attempt)',
      },
    ],
  },
  {
    name: 'attempts of a lost owner are not suspected',
    patches: [
      {
        file: 'engine/load/loader.ts',
        find: 'if (this.#suspects.untilRevision === 0) return',
        replace: 'if (this.#suspects.untilRevision >= 0) return',
      },
    ],
  },
  {
    name: 'a shard is released with unsettled outcomes',
    patches: [
      {
        file: 'engine/shard-engine.ts',
        find: 'const isClean = !this.#window.hasUnsettled()',
        replace: 'const isClean = true',
      },
    ],
  },
  {
    name: 'a load and a settlement overlap',
    patches: [
      {
        file: 'engine/load/loader.ts',
        find: 'const finish = await mutex.lock()',
        replace: 'const finish = (): void => undefined',
      },
    ],
  },
  {
    name: 'a waiting row is queued twice',
    patches: [{ file: 'engine/fire/lane.ts', find: 'if (attempt.isQueued) return', replace: '' }],
  },
  // ---- promise 2: never early
  {
    name: 'the due time is never checked',
    patches: [
      {
        file: 'engine/fire/attempts.ts',
        find: '    page.states[index] = READY\n    if (row.dueAt > now) {',
        replace: '    page.states[index] = READY\n    if (row.dueAt < 0) {',
      },
      {
        file: 'engine/fire/shard-start-guard.ts',
        find: 'if (this.#startHolds.park(row, token)) return false\n    if (row.dueAt > now) {',
        replace: 'if (this.#startHolds.park(row, token)) return false\n    if (row.dueAt < 0) {',
      },
      {
        file: 'engine/fire/attempts.ts',
        find: 'if (dueAt <= now && mayStart) {',
        replace: 'if (mayStart) {',
      },
    ],
  },
  // ---- rule 8: one key at a time
  {
    name: 'operations on one key overlap',
    patches: [
      noTurns,
      {
        file: 'engine/write/writer.ts',
        find: 'if (this.#isRunning || this.#isOver) return',
        replace: 'if (this.#isOver) return',
      },
    ],
  },
  {
    name: "the owner's operations overtake requests in the inbox",
    patches: [
      {
        file: 'engine/write/batch-sender.ts',
        find: 'const ifInboxEmpty = !batch[0]!.mayPassInbox',
        replace: 'const ifInboxEmpty = false',
      },
    ],
  },
  {
    name: "the owner's plain sets overtake requests in the inbox",
    patches: [
      {
        file: 'engine/write/batch-sender.ts',
        find: 'new SetColumnsWrite(task.columns, loader.floor, !task.mayPassInbox)',
        replace: 'new SetColumnsWrite(task.columns, loader.floor, false)',
      },
    ],
  },
  {
    name: 'plain sets of unknown outcome count as written',
    patches: [
      {
        file: 'engine/write/batch-sender.ts',
        find: 'return await this.#recover(() => task.sent(write), error)',
        replace:
          'if (error instanceof UnknownOutcomeError) { task.areNew(1); return [] }\n      return await this.#recover(() => task.sent(write), error)',
      },
    ],
  },
  {
    name: 'a too-late answer is given before the inbox is read',
    test: 'test/engine/from-anywhere.test.ts',
    rare: 'the wake-up for the request must be late as well',
    patches: [
      {
        file: 'engine/write/writer.ts',
        find: 'if (isAnyTooLate && !batch[0]!.mayPassInbox) {',
        replace: 'if (isAnyTooLate && this.#isOver) {',
      },
    ],
  },
  {
    name: 'a new owner starts timers before it has applied its inbox',
    patches: [
      {
        file: 'engine/shard-engine.ts',
        find: 'const isApplied = await this.#inbox.applyAll()',
        replace: 'const isApplied = await Promise.resolve(true)',
      },
    ],
  },
  {
    name: 'an inbox that could not be read counts as read',
    patches: [
      { file: 'engine/write/inbox.ts', find: "if (found === 'all')", replace: "if (found !== 'some')" },
    ],
  },
  {
    name: 'a row can start while its cancel is under way',
    patches: [
      {
        file: 'engine/write/operation-planner.ts',
        find: 'if (row !== undefined) this.#startHolds.hold(row.revision)',
        replace: 'void row',
      },
    ],
  },
  {
    name: 'a follow-up is written for a timer that was cancelled while it fired',
    patches: [
      {
        file: 'timer/details/ending.ts',
        find: "if (outcome.type === 'done' || !isEnding(row)) return outcome",
        replace: "if (outcome.type === 'done' || !isEnding(row) || row.attempt >= 0) return outcome",
      },
    ],
  },
  {
    name: 'the last attempt of a timer is repeated if its owner was lost',
    patches: [
      {
        file: 'engine/fire/attempts.ts',
        find: 'if (isEnding(attempt.row)) this.#giveUp(attempt)',
        replace: 'if (isEnding(attempt.row) && token < 0) this.#giveUp(attempt)',
      },
      {
        file: 'engine/fire/attempts.ts',
        find: 'if (!isPastLast(row)) {',
        replace: 'if (!isPastLast(row) || token >= 0) {',
      },
    ],
  },
  {
    name: 'a timer that was cancelled while it fired is a suspect only below the read level',
    patches: [
      {
        file: 'engine/load/loader.ts',
        find: 'if (!isBefore(row, this.#suspects.before) && !isEnding(row)) return false',
        replace: 'if (!isBefore(row, this.#suspects.before)) return false',
      },
    ],
  },
  {
    name: 'a cancel forgets the attempt during which it came',
    patches: [
      {
        file: 'engine/write/memory-updater.ts',
        find: 'this.#attempts.rewrite(attempt, row)',
        replace: 'this.#drop(from)\n    this.#loader.keep(row, readLevel)',
      },
    ],
  },
  {
    name: 'a report that waits to be settled does not notice the cancel',
    test: 'test/front/ending.test.ts',
    rare: 'the cancel must come while the attempt runs in a process that has let go of the shard',
    patches: [
      {
        file: 'engine/settle/settlement-builder.ts',
        find: 'if (!isEnding(attempt.row) || !isOutcome(outcome)) {',
        replace: 'if (!isEnding(attempt.row) || limit > 0) {',
      },
    ],
  },
  // ---- cases that an earlier set of mutants missed (issue 21, point 10)
  {
    name: 'a takeover suspects rows that were written after it',
    patches: [
      {
        file: shardRow,
        find: 'untilRevision: lastRevision,',
        replace: 'untilRevision: Number.MAX_SAFE_INTEGER - 0 * lastRevision,',
      },
    ],
  },
  {
    name: 'an acquisition of unknown outcome is retried as a new one',
    patches: [
      {
        file: 'engine/own/shard-acquirer.ts',
        find: 'const sent = isOpen ? earlier : this.#newAcquisition(seen, leaseMs)',
        replace: 'const sent = isOpen && this.#isOver ? earlier : this.#newAcquisition(seen, leaseMs)',
      },
    ],
  },
  {
    name: 'a move of a suspect forgets its attempt',
    test: 'test/engine/suspects.test.ts',
    rare: 'a row is nearly always loaded before it is moved',
    patches: [
      {
        file: 'engine/write/operation-planner.ts',
        find: 'return isSuspect ? { attempt: row.attempt + 1 } : {}',
        replace: 'return isSuspect && row.attempt < 0 ? { attempt: row.attempt + 1 } : {}',
      },
    ],
  },
  {
    name: 'an early token is used for another row',
    test: 'test/engine/early-tokens.test.ts',
    rare: 'a token is reused only after a thousand rows',
    patches: [
      {
        file: 'engine/fire/due-alarm.ts',
        find: 'if (page?.revisions[this.#window.index(token)] === revision) yield token',
        replace: 'if (page !== undefined && revision > 0) yield token',
      },
    ],
  },
  {
    name: 'an expired cancel or move is answered unknown',
    test: 'test/store/memory.test.ts',
    rare: 'clients see no difference',
    patches: [
      {
        file: shard,
        find: "isLate ? { outcome: 'expired' }",
        replace: "isLate ? { outcome: 'unknown' }",
      },
    ],
  },
  {
    name: 'a settlement finds rows below the settled level',
    test: 'test/store/settled-rows.test.ts',
    rare: 'an owner never names a row below its settled level',
    patches: [
      {
        file: shard,
        find: 'const slot = this.#find(row)\n    if (slot === NONE || this.rows.revision',
        replace: 'const slot = this.rows.find(row)\n    if (slot === NONE || this.rows.revision',
      },
    ],
  },
  {
    name: 'suspects are found without an allowance for clock offsets',
    test: 'test/engine/suspects.test.ts',
    rare: 'it takes renewals without heartbeats and a clock that is set back',
    patches: [
      {
        file: 'engine/load/loader.ts',
        find: 'const latest = dueUntil + this.#parts.settings.maxClockOffsetMs',
        replace: 'const latest = dueUntil',
      },
    ],
  },
  {
    name: 'a takeover suspects rows that became due after the lease had ended',
    patches: [{ file: shardRow, find: 'dueUntil: row.leaseUntil', replace: 'dueUntil: now' }],
  },
  {
    name: "the end of the lease is not compared with the store's clock",
    test: 'test/engine/suspects.test.ts',
    rare: 'a machine and the store must be set forward by the same time',
    patches: [
      {
        file: 'engine/own/ownership.ts',
        find: 'this.#storeClock.now() < this.#leaseUntilStore',
        replace: 'this.#storeClock.now() < Infinity',
      },
    ],
  },
  {
    name: 'the lease is not checked when a batch is taken from its lane',
    patches: [
      {
        file: 'engine/fire/shard-start-guard.ts',
        find: 'if (this.#ownership.mayStart) return true\n    this.#withoutLease.add(lane)',
        replace: 'if (!this.#ownership.isOver) return true\n    this.#withoutLease.add(lane)',
      },
    ],
  },
  // ---- checks at each start (issue 21, point 5)
  {
    name: 'the lease is not checked at each start',
    patches: [
      {
        file: 'engine/fire/attempts.ts',
        find: 'if (dueAt <= now && mayStart) {',
        replace: 'if (dueAt <= now) {',
      },
    ],
  },
  {
    name: 'a lease that was checked once is not checked again',
    patches: [
      {
        file: 'engine/defaults.ts',
        find: 'const CHECKED_FOR_MS = 1\n',
        replace: 'const CHECKED_FOR_MS = Infinity\n',
      },
    ],
  },
  {
    name: 'the due time is not checked at each start',
    patches: [
      {
        file: 'engine/fire/attempts.ts',
        find: 'if (dueAt <= now && mayStart) {',
        replace: 'if (mayStart) {',
      },
    ],
  },
  {
    name: 'an unstarted attempt that was handed over is not reported',
    test: 'test/engine/rebalance.test.ts',
    rare: 'a shard rarely moves between a delivery and its start',
    patches: [
      {
        file: 'engine/fire/attempts.ts',
        find: 'this.#handedAttempts.unstarted(attempt)',
        replace: '',
      },
    ],
  },
  {
    name: 'a timer that was replaced while its batch waited still starts',
    patches: [
      {
        file: 'engine/fire/attempts.ts',
        find: 'if (attempt.handed !== undefined || this.#isOver || attempt.isSuperseded) {',
        replace: 'if (attempt.handed !== undefined || this.#isOver) {',
      },
    ],
  },
  {
    name: 'a timer starts late although a request that replaces it is under way',
    patches: [
      {
        file: 'engine/fire/attempts.ts',
        find: 'if (this.#parts.startHolds.isNameHeld(attempt.row)) {',
        replace: 'if (false as boolean) {',
      },
    ],
  },
  {
    name: 'an attempt that was given back is forgotten',
    patches: [
      {
        file: 'engine/fire/attempts.ts',
        find: 'this.#takeBack(attempt)\n    this.#lanes.resumeLater(attempt.lane!)',
        replace: 'this.#lanes.resumeLater(attempt.lane!)',
      },
    ],
  },
  // ---- attempts are counted once (issue 21, point 3)
  {
    name: 'a carried row records its running attempt',
    patches: [
      {
        file: 'engine/settle/settlement-builder.ts',
        find: 'const belowRead = loader.readLevel.position - 1\n    const { dueAt, attempt, occurrence } = row',
        replace:
          'const belowRead = loader.readLevel.position - 1\n    const { dueAt, occurrence } = row\n    const attempt = startedAt < 0 ? row.attempt : number',
      },
      {
        file: 'engine/settle/settlement-builder.ts',
        find: '#carriedFollowUp({ row }: Attempt, level: Place)',
        replace: '#carriedFollowUp({ row, startedAt, attempt: number }: Attempt, level: Place)',
      },
    ],
  },
  {
    name: 'a carried row is not suspected',
    patches: [
      {
        file: 'engine/settle/settlement-builder.ts',
        find: 'const position = Math.max(Math.min(aside, belowRead), level.position)',
        replace: 'const position = Math.max(aside, belowRead + 1, level.position)',
      },
    ],
  },
  // ---- a level ahead of the clock (issue 21, point 2)
  {
    name: 'rows at a level ahead of the clock are not loaded',
    test: 'test/engine/level-ahead.test.ts',
    rare: 'every loaded row must be settled just before the clock is corrected',
    patches: [
      {
        file: 'engine/load/loader.ts',
        find: 'return Math.max(putBack.wantedUntil() + 1, this.#lateBefore, position + 1)',
        replace: 'return Math.max(putBack.wantedUntil() + 1, this.#lateBefore, position - position)',
      },
    ],
  },
  {
    name: 'rows whose position is later than their due time are not loaded',
    patches: [
      {
        file: 'engine/load/loader.ts',
        find: 'return Math.max(putBack.wantedUntil() + 1, this.#lateBefore, position + 1)',
        replace: 'return Math.max(putBack.wantedUntil() + 1, position + 1)',
      },
    ],
  },
  {
    name: 'a takeover forgets how far the last owner had read',
    patches: [
      {
        file: shardRow,
        find: 'lateBefore: Math.max(row.lateBefore, endOf(row.readLevel)),',
        replace: 'lateBefore: row.lateBefore,',
      },
    ],
  },
  {
    name: 'lowering the read level forgets where it was',
    test: 'test/store/memory.test.ts',
    rare: 'a late row must be set just before the clock is corrected, and leave memory',
    patches: [
      {
        file: shardRow,
        find: 'lateBefore: Math.max(row.lateBefore, endOf(from)),',
        replace: 'lateBefore: row.lateBefore,',
      },
    ],
  },
  {
    name: 'a settlement does not record how far it puts rows back',
    patches: [
      {
        file: shardRow,
        find: 'if (position > dueAt) lateBefore =',
        replace: 'if (position < dueAt) lateBefore =',
      },
    ],
  },
  {
    name: 'late rows that a shorter window dropped are not loaded again',
    test: 'test/engine/level-ahead.test.ts',
    rare: 'the rows must be set just before the clock is corrected',
    patches: [
      {
        file: 'engine/load/loader.ts',
        find: 'this.#lateBefore = Math.max(this.#lateBefore, this.#window.dropFrom(to))',
        replace: 'this.#window.dropFrom(to)',
      },
    ],
  },
  {
    name: 'a shorter window does not plan an earlier load',
    test: 'test/engine/lookahead-policy.test.ts',
    rare: 'the next load must have been planned by a clock that was ahead',
    patches: [
      {
        file: 'engine/load/lookahead-policy.ts',
        find: 'this.#nextLoadAt = Math.min(this.#nextLoadAt, position)',
        replace: 'void this.#nextLoadAt',
      },
    ],
  },
  {
    name: 'the store refuses to settle at a level ahead of its clock',
    test: 'test/engine/level-ahead.test.ts',
    patches: [
      {
        file: shardRow,
        find: '(level.position > now && isBefore(settledLevel, level)) ||',
        replace: 'level.position > now ||',
      },
    ],
  },
  {
    name: 'a lease from a clock that was ahead is never cut short',
    patches: [
      {
        file: 'engine/own/shard-acquirer.ts',
        find: 'if (!this.#shards.has(row.shard)) await this.#leaseWatch.check(row)',
        replace: 'if (this.#isOver) await this.#leaseWatch.check(row)',
      },
    ],
  },
  {
    name: 'a heartbeat from a clock that was ahead is never cut short',
    patches: [
      {
        file: 'store/member-table.ts',
        find: 'if (until > now + 2 * ttlMs) this',
        replace: 'if (until === Infinity) this',
      },
    ],
  },
  // ---- store time (issue 21, points 2 and 6)
  {
    name: "due times are compared with the machine's clock",
    patches: [
      {
        file: 'engine/owner-engine.ts',
        find: 'const clock = store.clock === machineClock ? machineClock : time',
        replace: 'const clock = machineClock',
      },
    ],
  },
  {
    name: 'store time is the latest possible instead of the earliest',
    patches: [
      {
        file: 'engine/cluster/store-clock.ts',
        find: 'least: storeNow - answeredAt,',
        replace: 'least: storeNow - sentAt,',
      },
    ],
  },
  {
    name: 'a measure from before the clock was set still counts',
    patches: [
      {
        file: 'engine/cluster/store-clock.ts',
        find: 'if (least > most) {',
        replace: 'if (least > Infinity) {',
      },
    ],
  },
  {
    name: 'an instance whose clock is off keeps its shards',
    patches: [
      {
        file: 'engine/owner-engine.ts',
        find: 'if (!this.#membership.isClockRight && !this.#holdsAll) this.#acquirer.releaseAll()',
        replace: 'if (this.#isStopping) this.#acquirer.releaseAll()',
      },
    ],
  },
  {
    name: 'an instance whose clock is off gets shards assigned',
    patches: [
      {
        file: 'engine/cluster/membership.ts',
        find: 'const isFiring = this.#isFiring && this.isClockRight',
        replace: 'const isFiring = this.#isFiring',
      },
      {
        file: 'engine/own/shard-acquirer.ts',
        find: 'if (isOurs || unownedMs >= leaseMs + acquireMs) await this.#acquire(row)',
        replace: 'if (isOurs) await this.#acquire(row)',
      },
    ],
  },
  {
    name: 'an instance whose clock is off starts timers',
    patches: [
      {
        file: 'engine/own/ownership.ts',
        find: 'return this.isLeased && this.#isClockRight()',
        replace: 'return this.isLeased',
      },
    ],
  },
  {
    name: 'a request that the inbox has forgotten is accepted again',
    test: 'test/store/memory.test.ts',
    patches: [
      {
        file: 'store/memory/memory-inbox.ts',
        find: 'Math.max(now, this.#forgottenUntil)',
        replace: 'now',
      },
    ],
  },
  // ---- attempts that are handed over (issue 21, point 4)
  {
    name: 'a held row is started by its new owner',
    patches: [
      {
        file: 'engine/fire/attempts.ts',
        find: 'if (isHeld(row)) {',
        replace: 'if (row.dueAt < 0) {',
      },
    ],
  },
  {
    name: 'a living holder counts as gone',
    patches: [
      {
        file: 'engine/fire/held-attempts.ts',
        find: 'if (holder !== undefined && isAlive(holder)) this',
        replace: 'if (holder !== undefined && isAlive(holder) && this.#heldSince.size === 0) this',
      },
    ],
  },
  {
    name: 'a holder that is gone counts as alive',
    patches: [
      {
        file: 'engine/cluster/membership.ts',
        find: 'return member === this.id ? life === this.life : this.#members.get(member)?.life === life',
        replace: 'return member !== this.id || life !== undefined',
      },
    ],
  },
  {
    name: 'a holder counts as gone before the inbox is read again',
    test: 'test/engine/handed-over-reports.test.ts',
    rare: 'an inbox is nearly always read between a report and the next heartbeat',
    patches: [
      {
        file: 'engine/fire/held-attempts.ts',
        find: 'return this.#orphans.size > 0\n  }',
        replace: 'this.#giveUpOrphans(Infinity)\n    return false\n  }',
      },
    ],
  },
  {
    name: 'reports wait behind requests that wait for memory',
    test: 'test/engine/handed-over-reports.test.ts',
    rare: 'the reports are late, but settled once the inbox is read again',
    patches: [
      {
        file: 'engine/write/inbox.ts',
        find: 'await this.#applyBesideReports(fresh)',
        replace: 'await this.#apply(fresh)',
      },
    ],
  },
  {
    name: 'a new process of the same member counts as the holder',
    patches: [
      {
        file: 'engine/cluster/membership.ts',
        find: 'return member === this.id ? life === this.life : this.#members.get(member)?.life === life',
        replace: 'return member === this.id || (this.#members.has(member) && life !== undefined)',
      },
    ],
  },
  {
    name: 'a held row is a suspect as well',
    patches: [
      {
        file: 'engine/load/loader.ts',
        find: 'return !isHeld(row)',
        replace: 'return !isHeld(row) || row.attempt > 0',
      },
    ],
  },
  {
    name: 'the level passes a row that was handed over',
    test: 'test/engine/rebalance.test.ts',
    rare: 'more outcomes than one settlement takes must wait when an attempt is handed over',
    patches: [
      {
        file: 'engine/settle/settlement-builder.ts',
        find: 'if (this.#firstHandedOver !== undefined) level = earlierOf(level, this.#firstHandedOver)',
        replace: 'void this.#firstHandedOver',
      },
    ],
  },
  {
    name: 'a hand-over of unknown outcome is not looked up',
    test: 'test/engine/rebalance.test.ts',
    patches: [
      {
        file: 'engine/settle/settler.ts',
        find: 'this.#parts.attempts.lookUpHanded(built.handed)',
        replace: '',
      },
    ],
  },
  {
    name: 'a report is repeated while the row waits for another process',
    test: 'test/engine/handed-over-reports.test.ts',
    rare: 'the attempt must be given back unstarted, and offered to another process',
    patches: [
      {
        file: 'engine/own/report-sender.ts',
        find: 'return isMeant(named, row) && holder?.member === member && holder.life === life',
        replace: 'return isMeant(named, row) && (holder !== undefined || member === life)',
      },
    ],
  },
  {
    name: 'a member is passed over by an instance that could not read the shards',
    test: 'test/engine/shard-acquirer.test.ts',
    rare: 'the shard must be taken and left again while the instance cannot read the shards',
    patches: [
      {
        file: 'engine/own/shard-acquirer.ts',
        find: 'if (now - this.#readAt > settings.leaseMs / 2) this.#unownedSince.clear()',
        replace: '',
      },
    ],
  },
  {
    name: 'a refused claim is forgotten while another sending of it is on its way',
    test: 'test/engine/shard-acquirer.test.ts',
    rare: 'a claim must be sent twice, and the first sending granted after the second was refused',
    patches: [
      {
        file: 'engine/own/shard-acquirer.ts',
        find: 'if (row !== undefined || sent.unanswered === 0) this.#forget(sent)',
        replace: 'this.#forget(sent)',
      },
    ],
  },
  {
    name: 'the outcome of a handed-over attempt is not sent',
    patches: [
      {
        file: 'engine/own/report-sender.ts',
        find: 'if (!this.#isSending) void this.#sendAll()',
        replace: 'if (!this.#isSending && this.#isOver) void this.#sendAll()',
      },
    ],
  },
  {
    name: 'a row that an owner of protocol 2 rewrote keeps its holder',
    test: 'test/engine/handed-over-reports.test.ts',
    rare: 'all simulated members speak one protocol',
    patches: [
      {
        file: 'timer/details/holder.ts',
        find: 'return isCurrent ? heldBy',
        replace: 'return isCurrent || true ? heldBy',
      },
    ],
  },
  {
    name: 'a report that an owner of protocol 2 removed is not sent again',
    test: 'test/engine/handed-over-reports.test.ts',
    rare: 'all simulated members speak one protocol',
    patches: [
      {
        file: 'engine/own/report-sender.ts',
        find: 'if (this.isHeldHere(operation, rows[index])) held.push(report)',
        replace: 'if (this.#isOver && rows[index] !== undefined) held.push(report)',
      },
    ],
  },
  {
    name: 'an attempt that an owner of protocol 2 repeats is not aborted',
    test: 'test/engine/handed-over-reports.test.ts',
    rare: 'all simulated members speak one protocol',
    patches: [
      {
        file: 'engine/own/handed-over-attempts.ts',
        find: 'if (!isLive || isStartedElsewhere',
        replace: 'if (!isLive || this.#isOver && isStartedElsewhere',
      },
    ],
  },
  // ---- rule 9: offers (issue 23, point 5)
  {
    name: 'an offer is not checked against its row',
    patches: [
      {
        file: 'engine/offer/offer-taker.ts',
        find: 'if (isOurs) offeredAttempts',
        replace: 'if (isOurs || row !== undefined) offeredAttempts',
      },
    ],
  },
  {
    name: 'a second notification of an offer starts a second attempt',
    patches: [
      {
        file: 'engine/offer/offered-attempts.ts',
        find: 'return this.#accepted.has(offerName)',
        replace: 'return this.#accepted.has(offerName) && this.#isOpen === undefined',
      },
      {
        file: 'engine/offer/offered-attempts.ts',
        find: 'if (this.#accepted.has(offerName)) return',
        replace: '',
      },
    ],
  },
  {
    name: 'an accepted offer is forgotten as soon as it has ended',
    patches: [
      {
        file: 'engine/offer/offered-attempts.ts',
        find: '() => this.#accepted.delete(offerName),\n    )',
        replace: '() => undefined,\n    )\n    this.#accepted.delete(offerName)',
      },
    ],
  },
  {
    name: 'a notification of an offer is not repeated',
    patches: [
      {
        file: 'engine/settle/settler.ts',
        find: 'this.#parts.offers.notifyAgain()',
        replace: '',
      },
    ],
  },
  {
    name: 'a timer that was offered stays in its lane',
    patches: [
      {
        file: 'engine/settle/settler.ts',
        find: 'offers.stored(offer, settlementId)',
        replace:
          'offers.stored(offer, settlementId)\n    this.#window.setState(attempt.token, READY)\n    this.#parts.attempts.enqueue(attempt)',
      },
    ],
  },
  {
    name: 'nobody notices that the member with an offer is gone',
    patches: [
      {
        file: 'engine/fire/held-attempts.ts',
        find: 'if (holder !== undefined && isAlive(holder)) this',
        replace: 'if (holder !== undefined && (holder.offer !== undefined || isAlive(holder))) this',
      },
    ],
  },
  {
    name: 'an offer is taken back from a living member',
    patches: [
      {
        file: 'engine/fire/held-attempts.ts',
        find: 'if (holder !== undefined && isAlive(holder)) this',
        replace: 'if (holder !== undefined && holder.offer === undefined && isAlive(holder)) this',
      },
    ],
  },
  {
    name: 'a report on an earlier offer of the same attempt counts',
    patches: [
      {
        file: 'engine/settle/handed-over-reports.ts',
        find: 'return hold !== undefined && hold.offer === offer',
        replace: 'return hold !== undefined || offer === named.offer',
      },
      {
        file: 'engine/fire/held-attempts.ts',
        find: "/${offer ?? ''}`",
        replace: "/${offer === undefined ? '' : 'offer'}`",
      },
    ],
  },
  {
    name: 'an offered timer starts although the heartbeats have ended',
    patches: [
      {
        file: 'engine/offer/offered-attempts.ts',
        find: 'return this.#isOpen && membership.isHeard && membership.isClockRight',
        replace: 'return this.#isOpen && membership.isClockRight',
      },
    ],
  },
  {
    name: 'an offer from before a gap in the heartbeats still counts',
    patches: [
      {
        file: 'engine/offer/offered-attempts.ts',
        find: 'return termOf(offerToken) !== this.#parts.membership.term',
        replace: 'return termOf(offerToken) < 0',
      },
    ],
  },
  {
    name: "an offer from before the store's clock was set forward still counts",
    patches: [
      {
        file: 'engine/cluster/membership.ts',
        find: 'isAfterJump = now - this.#storedAt >= this.#heardForMs',
        replace: 'isAfterJump = false',
      },
    ],
  },
  {
    name: 'an offered timer starts before it is due by the clock of its member',
    patches: [
      {
        file: 'engine/offer/offered-attempts.ts',
        find: 'if (attempt.row.dueAt > now) {',
        replace: 'if (attempt.row.dueAt > now + 1e12) {',
      },
      {
        file: 'engine/offer/offered-attempts.ts',
        find: 'if (this.#mayStart && attempt.row.dueAt <= this.#clock.now()) return true',
        replace: 'if (this.#mayStart) return true',
      },
    ],
  },
  {
    name: 'timers are offered to a member whose heartbeats are overdue',
    test: 'test/engine/pools.test.ts',
    rare: 'it breaks no promise: it only costs an attempt',
    patches: [
      {
        file: 'engine/offer/offers.ts',
        find: 'credit.isOverdue = taker.isOverdue',
        replace: 'credit.isOverdue = false',
      },
    ],
  },
  {
    name: 'timers are offered to members that do not handle them',
    patches: [
      {
        file: 'engine/offer/offers.ts',
        find: '        .filter(({ kinds }) => kinds.has(namespace, kind))\n        .map',
        replace: '        .map',
      },
      {
        file: 'engine/offer/offered-attempts.ts',
        find: 'if (this.#isOpen && this.#parts.policy.handles(row.namespace, row.kind)) this',
        replace: 'if (this.#isOpen) this',
      },
    ],
  },
  {
    name: 'timers that this instance does not handle are not offered',
    patches: [
      {
        file: 'engine/offer/offers.ts',
        find: 'this.#takers = membership.isMixed ? membership.takers : []',
        replace:
          'this.#takers = membership.isMixed && membership.life === undefined ? membership.takers : []',
      },
    ],
  },
  {
    name: 'due timers do not start while a shard is released',
    patches: [
      {
        file: 'engine/shard-engine.ts',
        find: 'this.#isHandingOver = true\n',
        replace: 'this.#isHandingOver = true\n    this.#attempts.halt()\n',
      },
    ],
  },
  {
    name: 'an operation that was given up while it waited is still written',
    patches: [
      {
        file: 'engine/write/task-queue.ts',
        find: 'for (const task of waiting) if (!task.isGivenUp) this.push(task)',
        replace: 'for (const task of waiting) this.push(task)',
      },
      {
        file: 'engine/write/writer.ts',
        find: 'if (tasksOf(batch).every(({ isGivenUp }) => isGivenUp)) return',
        replace: '',
      },
      {
        file: 'engine/write/batch-sender.ts',
        find: 'const batch = given.some(({ isGivenUp }) => isGivenUp)',
        replace: 'const batch = given.length < 0',
      },
      {
        file: 'engine/write/batch-sender.ts',
        find: 'if (task.isGivenUp) return []',
        replace: '',
      },
    ],
  },
  {
    name: 'an operation that is on its way is answered not-done',
    patches: [
      {
        file: 'engine/write/batch-sender.ts',
        find: 'markSent(batch, true)',
        replace: 'markSent(batch, false)',
      },
    ],
  },
  {
    name: 'plain sets that are on their way are answered not-done',
    patches: [
      {
        file: 'engine/write/batch-sender.ts',
        find: 'task.isSent = true',
        replace: 'task.isSent = false',
      },
    ],
  },
  {
    name: 'a request whose append was not answered is answered not-done',
    patches: [
      {
        file: 'engine/write/inbox-client.ts',
        find: 'if (answers === undefined) return limit?.unknownOutcome()',
        replace: 'if (answers === undefined) return limit?.notDone()',
      },
    ],
  },
]
