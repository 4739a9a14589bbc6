import assert from 'node:assert/strict'
import type {
  Fence,
  HistoryEntry,
  Loaded,
  LoadRequest,
  Operation,
  OperationAnswer,
  OwnerWrite,
  SetOperation,
  SettleAnswer,
  Settlement,
  ShardRow,
} from '../../store/index.js'
import type { Place, TimerRow } from '../../timer/index.js'
import { answerOf, samePlace, setOf } from './sample.js'
import { rowOf } from './timer-fields.js'
import type { World } from './world.js'

/** An owner that keeps its fence and levels, as an engine does. */
export class Owner {
  readonly world: World
  fence: Fence
  readLevel: Place

  constructor(world: World, row: ShardRow) {
    this.world = world
    this.readLevel = row.readLevel
    this.fence = { shard: row.shard, epoch: row.epoch, nonce: row.nonce, settledLevel: row.settledLevel }
  }

  async write(...operations: readonly Operation[]): Promise<readonly OperationAnswer[]> {
    return await this.writeWith([], ...operations)
  }

  async writeWith(
    history: readonly HistoryEntry[],
    ...operations: readonly Operation[]
  ): Promise<readonly OperationAnswer[]> {
    return await this.answersTo({ operations, history })
  }

  async answersTo(write: OwnerWrite): Promise<readonly OperationAnswer[]> {
    const answer = await this.world.store.write(this.fence, write)
    assert.equal(answer.answers.length, write.operations.length, 'one answer for each operation')
    samePlace(answer.readLevel, this.readLevel, 'the read level in the answer')
    const { answers, newFrom } = answer
    if (newFrom !== undefined) {
      for (const [index, each] of answers.entries()) {
        const { place, replaced } = answerOf(each, 'set')
        assert.equal(replaced, undefined, `what number ${index} of new timers replaced`)
        assert.equal(place.revision, newFrom + index, `the revision of number ${index} of new timers`)
      }
    }
    return answers
  }

  /** Stores timers, which must all be new, and answers their rows. */
  async set(...sets: readonly SetOperation[]): Promise<TimerRow[]> {
    const answers = await this.write(...sets)
    return sets.map((set, index) => {
      const { place, replaced } = answerOf(answers[index], 'set')
      assert.equal(replaced, undefined, `${set.key} replaced something`)
      assert.equal(place.position, set.position, `the position of ${set.key}`)
      return rowOf(set, place)
    })
  }

  /** Stores one timer under a new name at each of these positions. */
  async setAt(...positions: readonly number[]): Promise<TimerRow[]> {
    return await this.set(
      ...positions.map((position) => setOf(this.world.newName(this.fence.shard), position)),
    )
  }

  async loadPage(untilExclusive: number, limits: Partial<LoadRequest> = {}): Promise<Loaded> {
    const request = { from: this.readLevel, untilExclusive, limit: 100_000, limitBytes: 2 ** 30, ...limits }
    const loaded = await this.world.store.load(this.fence, request)
    this.readLevel = loaded.readLevel
    return loaded
  }

  async load(untilExclusive: number, limits: Partial<LoadRequest> = {}): Promise<TimerRow[]> {
    const { page } = await this.loadPage(untilExclusive, limits)
    return Array.from({ length: page.size }, (_, index) => page.row(index))
  }

  async settle(level: Place, parts: Partial<Omit<Settlement, 'level'>> = {}): Promise<SettleAnswer> {
    const answer = await this.world.store.settle(this.fence, settlementOf(level, parts))
    this.fence = { ...this.fence, settledLevel: level }
    samePlace(answer.readLevel, this.readLevel, 'the read level in the answer')
    return answer
  }

  async row(): Promise<ShardRow> {
    return (await this.world.store.shards())[this.fence.shard]!
  }
}

let settlements = 0

export function settlementOf(level: Place, parts: Partial<Omit<Settlement, 'level'>> = {}): Settlement {
  return {
    id: ++settlements,
    level,
    settledCount: 0,
    done: [],
    followUps: [],
    dead: [],
    history: [],
    ...parts,
  }
}
