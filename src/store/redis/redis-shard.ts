import { levelAt, type Place, type TimerName, type TimerRow, lastPlace } from '../../timer/index.js'
import { nameKey } from '../../timer/index.js'
import type {
  Counts,
  Fence,
  HistoryEntry,
  Loaded,
  ListQuery,
  LoadRequest,
  OperationAnswer,
  OwnerWrite,
  InboxRequest,
  SettleAnswer,
  Settlement,
  AcquireRequest,
  ShardRow,
  Tally,
  Usage,
  WriteAnswer,
  AppendAnswer,
  RequestedOperation,
  Swept,
} from '../store.js'
import type { KindCounter } from '../kind-counter.js'
import { NewTimers } from '../new-timers.js'
import type { Reply, Argument } from './net/connection.js'
import { SWEEP_ROWS } from './defaults.js'
import { shardKey } from './keys.js'
import { PredictedRevision } from './batch/predicted-revision.js'
import type { RedisNodes } from './net/nodes.js'
import { packOperations, parseAnswers } from './codec/operation-codec.js'
import { Packer } from './codec/packer.js'
import { packSets, setSourceOf } from './batch/packed-sets.js'
import { parsePlace, placeText } from './codec/place-codec.js'
import { packEntry } from './codec/record-codec.js'
import { RedisPage } from './redis-page.js'
import {
  packNames,
  packRequests,
  packStrings,
  parseRequests,
  splitIntoBatches,
} from './codec/request-codec.js'
import { rowOf } from './codec/row-codec.js'
import { Script } from './scripts/script.js'
import { pruneHistoryLua } from './scripts/shared.lua.js'
import type { ShardScripts } from './scripts/shard-scripts.js'
import { packOutcomes, parseOutcomes } from './codec/settlement-codec.js'
import { needsSpace } from '../needs-space.js'
import { operationCount, WriteQueue } from './batch/write-queue.js'

const noFence: readonly Argument[] = ['', '', '']
const rowFields = [
  'epoch',
  'nonce',
  'owner',
  'lease',
  'read',
  'settled',
  'settlement',
  'sbefore',
  'srev',
  'sdue',
  'late',
]
const countFields = ['count:created', 'count:settled', 'count:cancelled', 'count:replaced', 'count:dead']

const pruneHistoryScript = Script.writingWhenFull(pruneHistoryLua)

/**
 * One shard on its server. Each call is one script there, which happens completely or not at all. The fence is
 * checked in the same script (rule 1).
 *
 * Proven by test/store/redis/contract.test.ts, test/store/redis/writes.test.ts and test/store/redis/losses.test.ts.
 */
export class RedisShard {
  readonly shard: number
  readonly key: string
  readonly nodes: RedisNodes
  readonly #scripts: ShardScripts
  readonly #now: () => string
  readonly #writes = new WriteQueue((fence, write) => this.#write(fence, write))
  readonly #revisions = new PredictedRevision()

  /** `now` gives the time of a test's clock, or an empty string for the server's clock. */
  constructor(shard: number, nodes: RedisNodes, scripts: ShardScripts, now: () => string) {
    this.shard = shard
    this.key = shardKey(nodes.target.prefix, shard)
    this.nodes = nodes
    this.#scripts = scripts
    this.#now = now
  }

  // ---- ownership

  async row(): Promise<ShardRow> {
    return this.#parseRow(await this.nodes.call(this.key, ['HMGET', this.key, ...rowFields]))
  }

  async acquire({ owner, nonce, leaseMs, expectedEpoch }: AcquireRequest): Promise<ShardRow | undefined> {
    const args = [owner, String(nonce), String(leaseMs), String(expectedEpoch)]
    const reply = await this.run(this.#scripts.acquire, args)
    return reply === null ? undefined : this.#parseRow(reply)
  }

  async renew(fence: Fence, leaseMs: number): Promise<ShardRow> {
    return this.#parseRow(await this.run(this.#scripts.renew, [...fenceArgs(fence), String(leaseMs)]))
  }

  async refence(fence: Fence, nonce: number, leaseMs: number): Promise<ShardRow> {
    const args = [...fenceArgs(fence), String(nonce), String(leaseMs)]
    return this.#parseRow(await this.run(this.#scripts.refence, args))
  }

  async release(fence: Fence): Promise<void> {
    await this.run(this.#scripts.release, fenceArgs(fence))
  }

  // ---- the owner

  async load(fence: Fence, { from, untilExclusive, limit, limitBytes }: LoadRequest): Promise<Loaded> {
    const end = placeText({ position: untilExclusive, revision: 0 })
    const args = [...fenceArgs(fence), placeText(from), end, String(limit), String(limitBytes)]
    const reply = (await this.run(this.#scripts.load, args)) as [Buffer, Buffer, Buffer[], Buffer[]]
    const [read, left, rows, chunks] = reply
    return {
      page: new RedisPage(rows, chunks),
      readLevel: parsePlace(String(read)),
      nextPosition: left.length === 0 ? undefined : parsePlace(String(left)).position,
    }
  }

  async lower(fence: Fence, from: Place, to: Place): Promise<void> {
    await this.run(this.#scripts.lower, [...fenceArgs(fence), placeText(from), placeText(to)])
  }

  /** Concurrent writes share a script. */
  write(fence: Fence | undefined, write: OwnerWrite): Promise<WriteAnswer> {
    return this.#writes.write(fence, write)
  }

  async #write(fence: Fence | undefined, write: OwnerWrite): Promise<WriteAnswer> {
    const { history = [], ifInboxEmpty = false } = write
    const sets = setSourceOf(write)
    const count = operationCount(write)
    const predicted = this.#revisions.next(count)
    const args = [
      ...(fence === undefined ? noFence : fenceArgs(fence)),
      ifInboxEmpty ? '1' : '',
      ...(sets === undefined
        ? ['', ...packOperations(write.operations, this.shard), ...historyArgs(history)]
        : [String(predicted), ...packSets(sets, predicted)]),
    ]
    let lastRevision: number | undefined
    try {
      const isGrowth = sets !== undefined || write.operations.some(needsSpace)
      const script = isGrowth ? this.#scripts.write : this.#scripts.writeWhenFull
      const reply = (await this.run(script, args)) as [Buffer, Buffer, Buffer, Buffer]
      const [read, settled, before, answers] = reply
      lastRevision = Number(before)
      const readLevel = parsePlace(String(read))
      if (sets !== undefined && answers.length === 0) return new NewTimers(write, lastRevision + 1, readLevel)
      return { answers: parseAnswers(write.operations, answers, String(settled), lastRevision), readLevel }
    } finally {
      this.#revisions.answered(count, lastRevision)
    }
  }

  async settle(fence: Fence, settlement: Settlement): Promise<SettleAnswer> {
    const { done, dead, followUps, level } = settlement
    const packer = new Packer()
    const count = packOutcomes(packer, settlement)
    const lowest = lowestPosition([...followUps, ...dead.flatMap(({ next }) => next ?? [])])
    const args = [
      ...fenceArgs(fence),
      String(settlement.id),
      placeText(level),
      String(lowest),
      String(settlement.settledCount),
      String(count),
      packer.done(),
      ...historyArgs(settlement.history),
    ]
    const [read, answers] = (await this.run(this.#scripts.settle, args)) as [Buffer, Buffer]
    const settled = parseOutcomes(settlement, answers)
    return {
      dead: settled
        .slice(done.length, done.length + dead.length)
        .map(({ wasLive, next }) => ({ kept: wasLive, next })),
      followUps: settled.slice(done.length + dead.length).map(({ next }) => next),
      readLevel: parsePlace(String(read)),
    }
  }

  async sweep(fence: Fence, below: Place = lastPlace): Promise<Swept> {
    const args = [...fenceArgs(fence), String(SWEEP_ROWS), placeText(below)]
    const [removed, more] = (await this.run(this.#scripts.sweep, args)) as [number, number]
    return { removed, more: more === 1 }
  }

  // ---- the inbox

  async append(requests: readonly InboxRequest[]): Promise<AppendAnswer[]> {
    const answers = splitIntoBatches(requests).map((some) => this.#append(some))
    return (await Promise.all(answers)).flat()
  }

  async #append(requests: readonly InboxRequest[]): Promise<AppendAnswer[]> {
    const isGrowth = requests.some(({ operation }) => needsSpace(operation))
    const script = isGrowth ? this.#scripts.append : this.#scripts.appendWhenFull
    const letters = String(await this.run(script, packRequests(requests)))
    if (letters === '') return requests.map(() => 'appended')
    // Some are not new, so nothing was appended. The new ones are sent again without the others.
    const fresh = requests.filter((_, index) => letters[index] === 'n')
    const answers = fresh.length === 0 ? [] : await this.#append(fresh)
    let next = 0
    return Array.from(letters, (letter) => {
      if (letter === 'n') return answers[next++]!
      return letter === 'a' ? 'appended' : letter === 'b' ? 'answered-before' : 'expired'
    })
  }

  async requests(fence: Fence, limit: number): Promise<InboxRequest[]> {
    const flat = (await this.run(this.#scripts.requests, [...fenceArgs(fence), String(limit)])) as Buffer[]
    const requests: InboxRequest[] = []
    for (let index = 0; index < flat.length; index += 2) {
      parseRequests(requests, limit, this.shard, flat[index]!, flat[index + 1]!)
    }
    return requests
  }

  async answers(ids: readonly string[]): Promise<(OperationAnswer['outcome'] | undefined)[]> {
    if (ids.length === 0) return []
    const found = (await this.run(this.#scripts.answers, ids)) as Buffer[]
    return found.map((text) => (text.length === 0 ? undefined : (String(text) as OperationAnswer['outcome'])))
  }

  async areFree(requests: readonly InboxRequest<RequestedOperation>[]): Promise<boolean[]> {
    const names = packNames(requests.map(({ operation }) => operation))
    const ids = packStrings(requests.map(({ id }) => id))
    return flagsOf(await this.run(this.#scripts.areFree, [names, ids]))
  }

  async areWaiting(names: readonly TimerName[]): Promise<boolean[]> {
    return flagsOf(await this.run(this.#scripts.areWaiting, [packNames(names)]))
  }

  async isInboxBusy(): Promise<boolean> {
    return (await this.nodes.call(this.key, ['EXISTS', `${this.key}:in`])) === 1
  }

  // ---- reading

  async find(names: readonly TimerName[], isSettled: boolean): Promise<(TimerRow | undefined)[]> {
    const script = isSettled ? this.#scripts.findSettled : this.#scripts.find
    const flat = (await this.run(script, names.map(nameKey))) as Buffer[]
    return pairsOf(flat, (field, value) => (field.length === 0 ? undefined : rowOf(field, value)))
  }

  /** Some rows from a place on, in order, and the place where the next page begins. */
  async listPage(
    from: Place,
    limit: number,
    { dueFromInclusive = 0, dueUntilExclusive }: Partial<ListQuery>,
  ): Promise<{ readonly page: RedisPage; readonly next: Place | undefined }> {
    const end = dueUntilExclusive === undefined ? 'g' : placeText(levelAt(Math.max(0, dueUntilExclusive)))
    const args = [placeText(from), String(limit), placeText(levelAt(Math.max(0, dueFromInclusive))), end]
    const [left, rows, chunks] = (await this.run(this.#scripts.list, args)) as [Buffer, Buffer[], Buffer[]]
    return {
      page: new RedisPage(rows, chunks),
      next: left.length === 0 ? undefined : parsePlace(String(left)),
    }
  }

  async countRows(): Promise<number> {
    let sum = 0
    for (let cursor = '-'; cursor !== '';) {
      const [next, count] = (await this.run(this.#scripts.count, [cursor])) as [Buffer, number, Reply]
      sum += count
      cursor = String(next)
    }
    return sum
  }

  async counts(): Promise<Counts> {
    const reply = await this.nodes.call(this.key, ['HMGET', this.key, ...countFields])
    return parseCounts(reply as (Buffer | null)[])
  }

  async tally(): Promise<Tally> {
    const [rows, counts] = (await this.run(this.#scripts.tally, [])) as [number, (Buffer | null)[]]
    return { shard: this.shard, counts: parseCounts(counts), rows }
  }

  async usage(namespace: string): Promise<Usage> {
    let timers = 0
    let bytes = 0
    for (let cursor = '-'; cursor !== '';) {
      const [next, count, weight] = (await this.run(this.#scripts.usage, [cursor, namespace])) as [
        Buffer,
        number,
        number,
      ]
      timers += count
      bytes += weight
      cursor = String(next)
    }
    return { timers, bytes }
  }

  /** Adds the number of rows due in each slice. `args` are start, end, slice width, namespace and kind. */
  async addToHistogram(slices: number[], args: readonly string[]): Promise<void> {
    for (let cursor = '-'; cursor !== '';) {
      const [next, , flat] = (await this.run(this.#scripts.count, [cursor, ...args])) as [
        Buffer,
        number,
        number[],
      ]
      for (let index = 0; index < flat.length; index += 2) slices[flat[index]!]! += flat[index + 1]!
      cursor = String(next)
    }
  }

  /** Adds the rows by kind and slice. `args` are a namespace, empty for any, and the edges of the slices. */
  async addKinds(counter: KindCounter, args: readonly string[]): Promise<void> {
    for (let cursor = '-'; cursor !== '';) {
      const [next, kinds] = (await this.run(this.#scripts.countKinds, [cursor, ...args])) as [
        Buffer,
        readonly [Buffer, number, Buffer, readonly number[]][],
      ]
      for (const [scope, attempted, first, flat] of kinds) {
        const [namespace = '', kind = ''] = String(scope).split('\0')
        const counts = new Array<number>(args.length - 2).fill(0)
        for (let index = 0; index < flat.length; index += 2) counts[flat[index]!] = flat[index + 1]!
        counter.addAll({ namespace, kind, counts, attempted, firstDueAt: Number(first) })
      }
      cursor = String(next)
    }
  }

  /** Removes history before an instant. Answers how many entries it removed. */
  async pruneHistory(beforeExclusive: number): Promise<number> {
    const history = `${this.key}:history`
    for (let sum = 0; ;) {
      const count = Number(await pruneHistoryScript.run(this.nodes, history, [String(beforeExclusive)]))
      sum += count
      if (count === 0) return sum
    }
  }

  run(script: Script, args: readonly Argument[]): Promise<Reply> {
    return script.run(this.nodes, this.key, [this.#now(), ...args])
  }

  #parseRow(reply: Reply): ShardRow {
    const [epoch, nonce, owner, lease, read, settled, settlement, before, untilRevision, dueUntil, late] = (
      reply as (Buffer | null)[]
    ).map((text) => (text === null ? '' : String(text)))
    return {
      shard: this.shard,
      epoch: Number(epoch),
      nonce: Number(nonce),
      owner: owner!,
      leaseUntil: Number(lease),
      readLevel: parseLevel(read!),
      settledLevel: parseLevel(settled!),
      lateBefore: Number(late),
      lastSettlement: Number(settlement),
      suspects: {
        before: parseLevel(before!),
        untilRevision: Number(untilRevision),
        dueUntil: Number(dueUntil),
      },
    }
  }
}

/** History entries as script arguments: the count, and the entries packed. */
export function historyArgs(history: readonly HistoryEntry[]): [string, Buffer] {
  const packer = new Packer()
  for (const entry of history) packEntry(packer, entry)
  return [String(history.length), packer.done()]
}

/** The lowest position of the follow-ups. */
function lowestPosition(following: readonly { readonly position: number }[]): number {
  return following.reduce((least, { position }) => Math.min(least, position), Number.MAX_SAFE_INTEGER)
}

function fenceArgs({ epoch, nonce, settledLevel }: Fence): string[] {
  return [String(epoch), String(nonce), placeText(settledLevel)]
}

/** The counters in the order of `countFields`. */
function parseCounts(reply: readonly (Buffer | null)[]): Counts {
  const [created, settled, cancelled, replaced, dead] = reply.map((digits) => Number(digits ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
  ]
  return { created, settled, cancelled, replaced, dead }
}

function parseLevel(text: string): Place {
  return parsePlace(text || '0'.repeat(26))
}

function pairsOf<Item>(flat: readonly Buffer[], make: (first: Buffer, second: Buffer) => Item): Item[] {
  const items: Item[] = []
  for (let index = 0; index < flat.length; index += 2) items.push(make(flat[index]!, flat[index + 1]!))
  return items
}

/** The letters '0' and '1' of a script's answer. */
function flagsOf(reply: Reply): boolean[] {
  return Array.from(String(reply), (letter) => letter === '1')
}
