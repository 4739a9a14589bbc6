import type { Place, TimerName, TimerRow } from '../../timer/index.js'
import { nameText } from '../../timer/index.js'
import type {
  Fence,
  HistoryEntry,
  Loaded,
  LoadRequest,
  OperationAnswer,
  OwnerWrite,
  Request,
  SettleAnswer,
  Settlement,
  ShardClaim,
  ShardRow,
  Tally,
  Usage,
  WriteAnswer,
} from '../store.js'
import { NewTimers } from '../new-timers.js'
import type { Reply, Word } from './connection.js'
import { shardKey } from './keys.js'
import { BelievedRevision } from './believed-revision.js'
import type { RedisNodes } from './nodes.js'
import { packOperations, parseAnswers } from './operation-codec.js'
import { Packer } from './packer.js'
import { packPlainSets, plainSourceOf } from './packed-plain-sets.js'
import { parsePlace, placeText } from './place-text.js'
import { packEntry } from './record-codec.js'
import { RedisPage } from './redis-page.js'
import { batchesOf, packRequests, parseRequests } from './request-codec.js'
import { rowOf } from './row-codec.js'
import { Script } from './script.js'
import { pruneHistoryLua } from './scripts/shared.lua.js'
import type { ShardScripts } from './scripts.js'
import { packOutcomes, parseOutcomes } from './settlement-codec.js'
import { operationsOf, WriteQueue } from './write-queue.js'

const noFence: readonly Word[] = ['', '', '']
const SWEPT_ROWS = 1000

type AppendAnswer = 'appended' | 'answered-before' | 'expired'

const pruneHistoryScript = Script.writing(pruneHistoryLua)

/** One shard on its server: each call is one script there, which happens wholly or not at all. */
export class RedisShard {
  readonly shard: number
  readonly key: string
  readonly nodes: RedisNodes
  readonly #scripts: ShardScripts
  readonly #now: () => string
  readonly #writes = new WriteQueue((fence, write) => this.#write(fence, write))
  readonly #revisions = new BelievedRevision()

  /** `now` is the time by another clock than the server's; empty for the server's own. */
  constructor(shard: number, nodes: RedisNodes, scripts: ShardScripts, now: () => string) {
    this.shard = shard
    this.key = shardKey(nodes.target.prefix, shard)
    this.nodes = nodes
    this.#scripts = scripts
    this.#now = now
  }

  // ---- ownership

  async row(): Promise<ShardRow> {
    const names = [
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
    ]
    return this.#rowOf(await this.nodes.call(this.key, ['HMGET', this.key, ...names]))
  }

  async claim({ owner, nonce, leaseMs, expectedEpoch }: ShardClaim): Promise<ShardRow | undefined> {
    const words = [owner, String(nonce), String(leaseMs), String(expectedEpoch)]
    const reply = await this.run(this.#scripts.claim, words)
    return reply === null ? undefined : this.#rowOf(reply)
  }

  async renew(fence: Fence, leaseMs: number): Promise<ShardRow> {
    return this.#rowOf(await this.run(this.#scripts.renew, [...fenceOf(fence), String(leaseMs)]))
  }

  async refence(fence: Fence, nonce: number, leaseMs: number): Promise<ShardRow> {
    const words = [...fenceOf(fence), String(nonce), String(leaseMs)]
    return this.#rowOf(await this.run(this.#scripts.refence, words))
  }

  async release(fence: Fence): Promise<void> {
    await this.run(this.#scripts.release, fenceOf(fence))
  }

  // ---- the owner

  async load(fence: Fence, { from, untilExclusive, limit, limitBytes }: LoadRequest): Promise<Loaded> {
    const end = placeText({ position: untilExclusive, revision: 0 })
    const words = [...fenceOf(fence), placeText(from), end, String(limit), String(limitBytes)]
    const reply = (await this.run(this.#scripts.load, words)) as [Buffer, Buffer, Buffer[], Buffer[]]
    const [read, left, rows, chunks] = reply
    return {
      page: new RedisPage(rows, chunks),
      readLevel: parsePlace(String(read)),
      nextPosition: left.length === 0 ? undefined : parsePlace(String(left)).position,
    }
  }

  async lower(fence: Fence, from: Place, to: Place): Promise<void> {
    await this.run(this.#scripts.lower, [...fenceOf(fence), placeText(from), placeText(to)])
  }

  /** Writes that meet share a script. */
  write(fence: Fence | undefined, write: OwnerWrite): Promise<WriteAnswer> {
    return this.#writes.write(fence, write)
  }

  async #write(fence: Fence | undefined, write: OwnerWrite): Promise<WriteAnswer> {
    const { history = [], ifInboxEmpty = false } = write
    const plain = plainSourceOf(write)
    const count = operationsOf(write)
    const believed = this.#revisions.next(count)
    const words = [
      ...(fence === undefined ? noFence : fenceOf(fence)),
      ifInboxEmpty ? '1' : '',
      ...(plain === undefined
        ? ['', ...packOperations(write.operations, this.shard), ...historyWords(history)]
        : [String(believed), ...packPlainSets(plain, believed)]),
    ]
    let lastRevision: number | undefined
    try {
      const reply = (await this.run(this.#scripts.write, words)) as [Buffer, Buffer, Buffer, Buffer]
      const [read, settled, before, answers] = reply
      lastRevision = Number(before)
      const readLevel = parsePlace(String(read))
      if (plain !== undefined && answers.length === 0)
        return new NewTimers(write, lastRevision + 1, readLevel)
      return { answers: parseAnswers(write.operations, answers, String(settled), lastRevision), readLevel }
    } finally {
      this.#revisions.answered(count, lastRevision)
    }
  }

  async settle(fence: Fence, settlement: Settlement): Promise<SettleAnswer> {
    const { done, dead, followUps, level } = settlement
    const packer = new Packer()
    const count = packOutcomes(packer, settlement)
    const lowest = lowestOf([...followUps, ...dead.flatMap(({ next }) => next ?? [])])
    const words = [
      ...fenceOf(fence),
      String(settlement.id),
      placeText(level),
      String(lowest),
      String(settlement.settledCount),
      String(count),
      packer.done(),
      ...historyWords(settlement.history),
    ]
    const [read, answers] = (await this.run(this.#scripts.settle, words)) as [Buffer, Buffer]
    const settled = parseOutcomes(settlement, answers)
    return {
      dead: settled
        .slice(done.length, done.length + dead.length)
        .map(({ stood, next }) => ({ kept: stood, next })),
      followUps: settled.slice(done.length + dead.length).map(({ next }) => next),
      readLevel: parsePlace(String(read)),
    }
  }

  async sweep(fence: Fence): Promise<{ readonly removed: number; readonly more: boolean }> {
    const words = [...fenceOf(fence), String(SWEPT_ROWS)]
    const [removed, more] = (await this.run(this.#scripts.sweep, words)) as [number, number]
    return { removed, more: more === 1 }
  }

  // ---- the inbox

  async append(requests: readonly Request[]): Promise<AppendAnswer[]> {
    const answers = batchesOf(requests).map((some) => this.#append(some))
    return (await Promise.all(answers)).flat()
  }

  async #append(requests: readonly Request[]): Promise<AppendAnswer[]> {
    const letters = String(await this.run(this.#scripts.append, packRequests(requests)))
    if (letters === '') return requests.map(() => 'appended')
    // Some of them are not new: those that are come alone.
    const fresh = requests.filter((_, index) => letters[index] === 'n')
    const answers = fresh.length === 0 ? [] : await this.#append(fresh)
    let next = 0
    return Array.from(letters, (letter) => {
      if (letter === 'n') return answers[next++]!
      return letter === 'a' ? 'appended' : letter === 'b' ? 'answered-before' : 'expired'
    })
  }

  async requests(fence: Fence, limit: number): Promise<Request[]> {
    const flat = (await this.run(this.#scripts.requests, [...fenceOf(fence), String(limit)])) as Buffer[]
    const requests: Request[] = []
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

  // ---- reading

  async find(names: readonly TimerName[]): Promise<(TimerRow | undefined)[]> {
    const flat = (await this.run(this.#scripts.find, names.map(nameText))) as Buffer[]
    return pairsOf(flat, (field, value) => (field.length === 0 ? undefined : rowOf(field, value)))
  }

  /** Some rows from a place on, in order, and the place to go on from. */
  async page(
    from: Place,
    limit: number,
  ): Promise<{ readonly page: RedisPage; readonly next: Place | undefined }> {
    const words = [placeText(from), String(limit)]
    const [left, rows, chunks] = (await this.run(this.#scripts.list, words)) as [Buffer, Buffer[], Buffer[]]
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

  async tally(): Promise<Tally> {
    const [rows, counts] = (await this.run(this.#scripts.tally, [])) as [number, (Buffer | null)[]]
    const [created, settled, cancelled, replaced, dead] = counts.map((text) => Number(text ?? 0)) as [
      number,
      number,
      number,
      number,
      number,
    ]
    return { shard: this.shard, counts: { created, settled, cancelled, replaced, dead }, rows }
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

  /** Adds to `slices` what is due in each; `words` are start, end, width, namespace and kind. */
  async addToHistogram(slices: number[], words: readonly string[]): Promise<void> {
    for (let cursor = '-'; cursor !== '';) {
      const [next, , flat] = (await this.run(this.#scripts.count, [cursor, ...words])) as [
        Buffer,
        number,
        number[],
      ]
      for (let index = 0; index < flat.length; index += 2) slices[flat[index]!]! += flat[index + 1]!
      cursor = String(next)
    }
  }

  /** Drops history before an instant; answers how many entries went. */
  async pruneHistory(beforeExclusive: number): Promise<number> {
    const history = `${this.key}:history`
    for (let sum = 0; ;) {
      const count = Number(await pruneHistoryScript.run(this.nodes, history, [String(beforeExclusive)]))
      sum += count
      if (count === 0) return sum
    }
  }

  run(script: Script, words: readonly Word[]): Promise<Reply> {
    return script.run(this.nodes, this.key, [this.#now(), ...words])
  }

  #rowOf(reply: Reply): ShardRow {
    const [epoch, nonce, owner, lease, read, settled, settlement, before, untilRevision, dueUntil] = (
      reply as (Buffer | null)[]
    ).map((text) => (text === null ? '' : String(text)))
    return {
      shard: this.shard,
      epoch: Number(epoch),
      nonce: Number(nonce),
      owner: owner!,
      leaseUntil: Number(lease),
      readLevel: levelOf(read!),
      settledLevel: levelOf(settled!),
      lastSettlement: Number(settlement),
      suspects: {
        before: levelOf(before!),
        untilRevision: Number(untilRevision),
        dueUntil: Number(dueUntil),
      },
    }
  }
}

/** Entries of history as scripts take them: how many, and the entries. */
export function historyWords(history: readonly HistoryEntry[]): [string, Buffer] {
  const packer = new Packer()
  for (const entry of history) packEntry(packer, entry)
  return [String(history.length), packer.done()]
}

/** The lowest position of what is to follow. */
function lowestOf(following: readonly { readonly position: number }[]): number {
  return following.reduce((least, { position }) => Math.min(least, position), Number.MAX_SAFE_INTEGER)
}

function fenceOf({ epoch, nonce, settledLevel }: Fence): string[] {
  return [String(epoch), String(nonce), placeText(settledLevel)]
}

function levelOf(text: string): Place {
  return parsePlace(text || '0'.repeat(26))
}

function pairsOf<Item>(flat: readonly Buffer[], make: (first: Buffer, second: Buffer) => Item): Item[] {
  const items: Item[] = []
  for (let index = 0; index < flat.length; index += 2) items.push(make(flat[index]!, flat[index + 1]!))
  return items
}
