import type { Operation } from '../../../store/index.js'
import type { TimerName, TimerRow } from '../../../timer/index.js'
import { cancelOf, moveOf, newIdentity, setOf } from '../sample.js'
import type { Dice } from './dice.js'
import type { ShardModel } from './shard-model.js'

const DAY_MS = 86_400_000

/** Operations as they might come: most of them sensible, some late, some twice, some from another life. */
export class RandomOperation {
  readonly #dice: Dice
  readonly #model: ShardModel
  readonly #names: readonly TimerName[]

  constructor(dice: Dice, model: ShardModel, names: readonly TimerName[]) {
    this.#dice = dice
    this.#model = model
    this.#names = names
  }

  /** Some bring a note for the history. */
  next(now: number): Operation {
    const operation = this.#bare(now)
    if (operation.type === 'answer' || !this.#dice.chance(0.1)) return operation
    return { ...operation, note: { at: now, event: operation.type, details: 'dice' } }
  }

  #bare(now: number): Operation {
    const dice = this.#dice
    const row = dice.one([...this.#model.rows.values()])
    const name = dice.chance(0.4) && row !== undefined ? row : dice.one(this.#names)!
    switch (dice.weighted({ set: 50, again: 5, move: 25, cancel: 20 })) {
      case 'set':
        return this.#set(name, now)
      case 'again':
        return row === undefined ? this.#set(name, now) : this.#again(row)
      case 'move': {
        const move = { ...moveOf(name, this.position(now)), ...this.#conditions(name) }
        const changes = dice.chance(0.1) ? { attempt: dice.below(5), details: 'moved' } : {}
        return { ...move, ...changes, dueAt: Math.max(0, move.position - dice.below(2)) }
      }
      case 'cancel':
        return { ...cancelOf(name), ...this.#conditions(name) }
    }
  }

  /** Near for the most part, crowded on one millisecond, some a day and some half a year off. */
  position(now: number): number {
    const { position } = this.#model.settledLevel
    switch (this.#dice.weighted({ near: 50, crowd: 20, minutes: 15, day: 10, far: 4, level: 1 })) {
      case 'near':
        return Math.max(position, now + this.#dice.below(3000) - 300)
      case 'crowd':
        return Math.max(position, Math.ceil(now / 1000) * 1000)
      case 'minutes':
        return now + this.#dice.below(600_000)
      case 'day':
        return now + this.#dice.below(2 * DAY_MS)
      case 'far':
        return now + this.#dice.below(200 * DAY_MS)
      case 'level':
        return position
    }
  }

  #set(name: TimerName, now: number): Operation {
    const dice = this.#dice
    const isLow = dice.chance(0.02)
    const { position: level } = this.#model.settledLevel
    const position = isLow && level > 0 ? level - 1 : this.position(now)
    const set = setOf(name, position, {
      payload: Uint8Array.from({ length: dice.below(40) }, () => dice.below(256)),
      tags: dice.chance(0.2) ? ['red', `tag-${dice.below(3)}`] : [],
      details: dice.chance(0.1) ? '{"every":"day"}' : '',
      attempt: dice.below(3),
      occurrence: dice.below(2),
    })
    if (isLow) return set
    const revision = this.#model.find(name)?.revision ?? 0
    if (dice.chance(0.1)) return { ...set, ifAbsent: true }
    return dice.chance(0.1) ? { ...set, ifRevision: dice.chance(0.6) ? revision : revision + 1 } : set
  }

  #again(row: TimerRow): Operation {
    const set = setOf(row, Math.max(row.position, this.#model.settledLevel.position), {
      identity: row.identity,
    })
    return this.#dice.chance(0.5) ? { ...set, ifAbsent: true } : set
  }

  #conditions(name: TimerName): { readonly identity?: number; readonly ifRevision?: number } {
    const dice = this.#dice
    const row = this.#model.find(name)
    if (row === undefined || dice.chance(0.6)) return {}
    if (dice.chance(0.5)) return { identity: dice.chance(0.7) ? row.identity : newIdentity() }
    return { ifRevision: dice.chance(0.7) ? row.revision : row.revision - 1 }
  }
}
