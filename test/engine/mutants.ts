/** A rule of the protocol, broken: text that stands once in a file of src/, and what to put in its place. */
export interface Mutant {
  readonly name: string
  readonly patches: readonly Patch[]
}

interface Patch {
  readonly file: string
  readonly find: string
  readonly replace: string
}

const shard = 'store/memory/memory-shard.ts'
const shardRow = 'store/shard-row.ts'

/** Writers do not wait for a settlement on its way, nor it for them. */
const noTurns: Patch = {
  file: 'engine/writer.ts',
  find: 'const finish = await this.#turns.take()\n      try {\n        if (this.#isOver) throw',
  replace: 'const finish = (): void => undefined\n      try {\n        if (this.#isOver) throw',
}

/** The store takes an insert below the settled level. */
const noStoreFloor: Patch = {
  file: shard,
  find: 'return position < this.#row.settledLevel.position',
  replace: 'return position < 0',
}

/** What somebody who does not own the shard would write without the inbox. */
function foreign(type: 'set' | 'cancel'): Patch {
  return {
    file: 'engine/engine.ts',
    find: 'if (engine === undefined) return await this.#owners.ask(shard, operations)',
    replace: `if (engine === undefined && operations.every((operation) => operation.type === '${type}')) {
      const row = (await this.#store.shards())[shard]
      const position = (operation) => Math.max(operation.dueAt ?? 0, row.settledLevel.position)
      try {
        const { answers } = await this.#store.write(row, {
          operations: operations.map((operation) => ({ ...operation, position: position(operation) })),
        })
        return answers.map((answer) =>
          answer.outcome === 'set' ? { outcome: 'set', revision: answer.place.revision, replaced: answer.replaced }
          : answer.outcome === 'conflict' || answer.outcome === 'cancelled' ? { outcome: answer.outcome }
          : { outcome: 'unknown' })
      } catch (error) {
        return operations.map(() => ({ outcome: 'failed', error: new StoreError('unknown-outcome', String(error)) }))
      }
    }
    if (engine === undefined) return await this.#owners.ask(shard, operations)`,
  }
}

export const mutants: readonly Mutant[] = [
  // ---- rule 1: the fence
  {
    name: 'range delete not fenced: settle',
    patches: [
      {
        file: shard,
        find: 'settlement: Settlement, now: number): SettleAnswer {\n    this.checkFence(fence)',
        replace: 'settlement: Settlement, now: number): SettleAnswer {',
      },
    ],
  },
  {
    name: 'range delete not fenced: sweep',
    patches: [
      {
        file: shard,
        find: 'sweep(fence: Fence): { removed: number; more: boolean } {\n    this.checkFence(fence)',
        replace: 'sweep(fence: Fence): { removed: number; more: boolean } {\n    void fence',
      },
    ],
  },
  {
    name: "owner's write not fenced",
    patches: [
      {
        file: shard,
        find: 'if (fence !== undefined) this.checkFence(fence)',
        replace: 'void fence',
      },
    ],
  },
  // ---- rule 2: read and promise in one step
  {
    name: 'level raised after the scan',
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
    name: 'window shrunk without lowering the read level',
    patches: [
      {
        file: 'engine/loader.ts',
        find: "await this.#ownership.call('lower', (fence) => this.#store.lower(fence, from, to))\n    } catch",
        replace: 'void from\n    } catch',
      },
      {
        file: 'engine/loader.ts',
        find: 'this.readLevel = to\n        this.#nextPosition = to.position',
        replace: 'void to',
      },
    ],
  },
  {
    name: 'a page that was lost is not read again',
    patches: [
      {
        file: 'engine/loader.ts',
        find: 'await this.#goBack(from)',
        replace: 'this.readLevel = this.#ownership.row.readLevel',
      },
    ],
  },
  // ---- rule 3: only the owner writes
  { name: 'direct foreign upsert', patches: [foreign('set')] },
  { name: 'direct foreign cancel', patches: [foreign('cancel')] },
  {
    name: 'a request stays in the inbox when applied',
    patches: [
      {
        file: shard,
        find: "if (answer.outcome !== 'below-level') this.inbox.answer(request, answer.outcome)",
        replace: 'void request',
      },
    ],
  },
  // ---- rule 4: the floor
  {
    name: "owner's insert without the floor",
    patches: [
      noStoreFloor,
      {
        file: 'engine/writer.ts',
        find: 'return Math.max(this.#ownership.settledLevel.position, this.#loader.soonest)',
        replace: 'return 0',
      },
    ],
  },
  {
    name: 'new timers below the read level are not kept',
    patches: [
      {
        file: 'engine/writer.ts',
        find: 'else this.#takeInSet(set, { position: set.position, revision }, readLevel)',
        replace: 'else void revision',
      },
    ],
  },
  {
    name: 'plain sets without the floor',
    patches: [
      noStoreFloor,
      {
        file: 'engine/writer.ts',
        find: 'new PlainWrite(task.share, this.#floor, !task.isNext)',
        replace: 'new PlainWrite(task.share, 0, !task.isNext)',
      },
    ],
  },
  {
    name: 'plain sets below the read level are not kept',
    patches: [
      {
        file: 'engine/writer.ts',
        find: 'if (isBefore(place, readLevel)) this.#window.addRow(sets.row(indexes[at]!, place))',
        replace: 'if (isBefore(place, readLevel)) void sets',
      },
    ],
  },
  { name: 'floor at the acknowledged level only', patches: [noStoreFloor, noTurns] },
  { name: 'inserts in flight do not hold the level', patches: [noTurns] },
  // ---- rule 5: unknown outcomes
  {
    name: 'unknown outcome sent again without a new epoch',
    patches: [
      {
        file: 'engine/ownership.ts',
        find: 'if (fence.epoch === this.#fence.epoch) await this.#refence()',
        replace: 'if (this.#isOver) await this.#refence()',
      },
    ],
  },
  {
    name: 'settlement of unknown outcome taken for undone',
    patches: [
      {
        file: 'engine/settler.ts',
        find: 'if (this.#ownership.row.lastSettlement === settlement.id) {',
        replace: 'if (settlement.id === 0) {',
      },
    ],
  },
  // ---- rule 6: takeover and lease
  {
    name: 'takeover from the read level',
    patches: [{ file: shardRow, find: 'readLevel: row.settledLevel,', replace: 'readLevel: row.readLevel,' }],
  },
  {
    name: 'lease counted from the answer',
    patches: [
      {
        file: 'engine/ownership.ts',
        find: "await this.call('renew', (fence) => this.#store.renew(fence, this.#settings.leaseMs))\n      this.#leaseFrom(sentAt)",
        replace:
          "await this.call('renew', (fence) => this.#store.renew(fence, this.#settings.leaseMs))\n      this.#leaseFrom(this.#reading())\n      void sentAt",
      },
    ],
  },
  {
    name: 'lease of a raised epoch counted from the last send',
    patches: [
      {
        file: 'engine/ownership.ts',
        find: 'const sentAt = this.#reading()\n    for (let tries = 0; !this.#isOver; tries++) {',
        replace: 'for (let tries = 0; !this.#isOver; tries++) {\n      const sentAt = this.#reading()',
      },
    ],
  },
  {
    name: 'lease not looked at before firing',
    patches: [
      {
        file: 'engine/ownership.ts',
        find: 'return this.isLeased && this.#isClockRight()',
        replace: 'return !this.#isOver && this.#isClockRight()',
      },
    ],
  },
  {
    name: 'a shard is claimed before its lease is over',
    patches: [
      {
        file: shardRow,
        find: "(row.owner !== '' && row.leaseUntil > now)) return undefined",
        replace: 'now < 0) return undefined',
      },
    ],
  },
  // ---- rule 7: settle
  {
    name: 'follow-up not conditional on its revision',
    patches: [
      {
        file: shard,
        find: 'if (standing === undefined || standing.revision !== row.revision) return undefined',
        replace: 'if (standing === undefined) return undefined',
      },
      {
        file: 'engine/writer.ts',
        find: 'if (attempt !== undefined) attempt.isSuperseded = true',
        replace: 'void attempt',
      },
    ],
  },
  {
    name: 'dead letter stored after its row was deleted',
    patches: [
      {
        file: shard,
        find: 'this.#ledger.addDead(letter)',
        replace: 'queueMicrotask(() => this.#ledger.addDead(letter))',
      },
    ],
  },
  {
    name: 'a dead occurrence goes on without its letter',
    patches: [
      {
        file: 'engine/settler.ts',
        find: "if (report.outcome.type === 'dead') {\n        const",
        replace: `if (report.outcome.type === 'dead' && report.outcome.next !== undefined) {
        const { row } = report.attempt
        followUps.push({ row, ...nextOf(row, report.outcome.next, level.position, this.#loader.soonest) })
      } else if (report.outcome.type === 'dead') {
        const`,
      },
      {
        file: 'engine/settler.ts',
        find: "const row = outcome.type === 'dead' ?",
        replace: "const row = outcome.type === 'dead' && outcome.next === undefined ?",
      },
    ],
  },
  {
    name: 'a dead letter and what follows it in two writes',
    patches: [
      {
        file: shard,
        find: 'next: letter.next && this.#follow(row, letter.next)',
        replace: `next: letter.next && ((next) => {
        const put = (): MemoryRow => this.#follow(row, next)
        setTimeout(put)
        return { ...row, ...next, revision: this.#lastRevision + 1 }
      })(letter.next)`,
      },
    ],
  },
  {
    name: 'what follows a dead occurrence is forgotten in memory',
    patches: [
      {
        file: 'engine/settler.ts',
        find: 'answer.dead[deadIndex++]?.next :',
        replace: '(deadIndex++, undefined) :',
      },
    ],
  },
  {
    name: 'what follows a dead occurrence is not looked up',
    patches: [
      {
        file: 'engine/settler.ts',
        find: '({ kept: true, next: rows[first + index] })',
        replace: '({ kept: index < 0 || first >= 0, next: undefined })',
      },
    ],
  },
  {
    name: 'level passes rows that are not finished',
    patches: [
      {
        file: 'engine/settler.ts',
        find: 'if (holding !== undefined) level = earlierOf(level, holding)',
        replace: 'void holding',
      },
    ],
  },
  {
    name: 'a row is put back below the read level and forgotten',
    patches: [
      {
        file: 'engine/surplus.ts',
        find: 'const position = Math.max(readPosition, now',
        replace: 'const position = Math.min(readPosition - 1, now',
      },
      {
        file: 'engine/settler.ts',
        find: 'counts.putBack++\n      this.#takeIn(row, answer.readLevel)',
        replace: 'counts.putBack++',
      },
    ],
  },
  {
    name: 'a row that was put back may start all the same',
    patches: [
      {
        file: 'engine/settler.ts',
        find: 'this.#window.leave(attempt.token)\n      attempt.isSuperseded = true',
        replace: 'this.#window.stay(attempt.token, READY)\n      this.#attempts.offer(attempt)',
      },
    ],
  },
  {
    name: 'attempts of a lost owner are not suspected',
    patches: [
      {
        file: 'engine/loader.ts',
        find: 'if (!isBefore(from, this.#suspects.before)) return',
        replace: 'if (from !== this.#suspects.before) return',
      },
    ],
  },
  {
    name: 'a shard is let go with outcomes unsettled',
    patches: [
      {
        file: 'engine/shard-engine.ts',
        find: 'const isClean = !this.#window.hasUnsettled()',
        replace: 'const isClean = true',
      },
    ],
  },
  {
    name: 'a load and a settlement on their way at once',
    patches: [
      {
        file: 'engine/loader.ts',
        find: 'const finish = await this.#turns.take()',
        replace: 'const finish = (): void => undefined',
      },
    ],
  },
  {
    name: 'a waiting row is queued twice',
    patches: [{ file: 'engine/lane.ts', find: 'if (attempt.isQueued) return', replace: '' }],
  },
  // ---- never early
  {
    name: 'early check dropped',
    patches: [
      {
        file: 'engine/attempts.ts',
        find: '    page.states[index] = READY\n    if (row.dueAt > now) {',
        replace: '    page.states[index] = READY\n    if (row.dueAt < 0) {',
      },
      {
        file: 'engine/attempts.ts',
        find: 'if (this.#holds.park(row.revision, token)) return false\n    if (row.dueAt > now) {',
        replace: 'if (this.#holds.park(row.revision, token)) return false\n    if (row.dueAt < 0) {',
      },
    ],
  },
  // ---- rule 8: one key at a time
  {
    name: 'operations of one key not serialised',
    patches: [
      noTurns,
      {
        file: 'engine/writer.ts',
        find: 'if (this.#isRunning || this.#isOver) return',
        replace: 'if (this.#isOver) return',
      },
    ],
  },
  {
    name: 'an own operation goes before what is in the inbox',
    patches: [
      {
        file: 'engine/writer.ts',
        find: 'const ifInboxEmpty = !batch[0]!.isNext',
        replace: 'const ifInboxEmpty = false',
      },
    ],
  },
  {
    name: 'plain sets go before what is in the inbox',
    patches: [
      {
        file: 'engine/writer.ts',
        find: 'new PlainWrite(task.share, this.#floor, !task.isNext)',
        replace: 'new PlainWrite(task.share, this.#floor, false)',
      },
    ],
  },
  {
    name: 'plain sets of unknown outcome count as written',
    patches: [
      {
        file: 'engine/writer.ts',
        find: 'return await this.#recover(() => task.sent(write), error)',
        replace:
          'if (error instanceof Unresolved) { task.areNew(1); return [] }\n      return await this.#recover(() => task.sent(write), error)',
      },
    ],
  },
  {
    name: 'too late is answered before the inbox is heard',
    patches: [
      {
        file: 'engine/writer.ts',
        find: 'if (isAnyTooLate && !batch[0]!.isNext) {',
        replace: 'if (isAnyTooLate && this.#isOver) {',
      },
    ],
  },
  {
    name: 'the inbox counts as heard when it could not be read',
    patches: [{ file: 'engine/inbox.ts', find: "if (found === 'all')", replace: "if (found !== 'some')" }],
  },
  {
    name: 'a row may start while its cancel is on its way',
    patches: [
      {
        file: 'engine/writer.ts',
        find: 'if (row !== undefined) this.#holds.hold(row.revision)',
        replace: 'void row',
      },
    ],
  },
]
