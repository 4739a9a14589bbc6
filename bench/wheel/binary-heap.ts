import type { Subject, SubjectKind } from './subject.js'

/** A binary heap with handles. */
export const binaryHeap: SubjectKind<number> = {
  open: (fire) => new BinaryHeap(fire),
  handles: (n) => new Float64Array(n).fill(-1),
  stepTicks: 1,
  knowsStale: true,
  firesAll: true,
  notes: [],
}

const IDS = 2 ** 27

/**
 * A fast binary heap in plain JavaScript. The heap contains the due ticks, so that a comparison needs no lookup. Beside it
 * is the index of every id, so that a timer can be moved and cancelled. Ids are reused with a new generation, so that a
 * stale handle is harmless, as in our wheel.
 */
class BinaryHeap implements Subject<number> {
  readonly #dueTicks: number[] = []
  readonly #ids: number[] = []
  readonly #places: number[] = []
  readonly #generations: number[] = []
  readonly #tokens: number[] = []
  readonly #free: number[] = []
  readonly #fire: (token: number) => void

  constructor(fire: (token: number) => void) {
    this.#fire = fire
  }

  set(dueTick: number, token: number): number {
    let id = this.#free.pop()
    if (id === undefined) {
      id = this.#places.length
      this.#places.push(-1)
      this.#generations.push(0)
      this.#tokens.push(token)
    } else this.#tokens[id] = token
    this.#ids.push(id)
    this.#dueTicks.push(dueTick)
    this.#rise(this.#ids.length - 1, dueTick, id)
    return this.#generations[id]! * IDS + id
  }

  move(handle: number, dueTick: number): number {
    const place = this.#placeOf(handle)
    if (place >= 0) this.#settle(place, dueTick, handle % IDS)
    return handle
  }

  cancel(handle: number): boolean {
    const place = this.#placeOf(handle)
    if (place < 0) return false
    this.#take(place, handle % IDS)
    return true
  }

  advance(tick: number): void {
    while (this.#ids.length > 0 && this.#dueTicks[0]! <= tick) {
      const id = this.#ids[0]!
      this.#take(0, id)
      this.#fire(this.#tokens[id]!)
    }
  }

  #placeOf(handle: number): number {
    const id = handle % IDS
    return this.#generations[id] === Math.floor(handle / IDS) ? this.#places[id]! : -1
  }

  #take(place: number, id: number): void {
    this.#places[id] = -1
    this.#generations[id]! += 1
    this.#free.push(id)
    const lastId = this.#ids.pop()!
    const lastDue = this.#dueTicks.pop()!
    if (place < this.#ids.length) this.#settle(place, lastDue, lastId)
  }

  #settle(place: number, dueTick: number, id: number): void {
    if (place > 0 && this.#dueTicks[(place - 1) >> 1]! > dueTick) this.#rise(place, dueTick, id)
    else this.#sink(place, dueTick, id)
  }

  #rise(from: number, dueTick: number, id: number): void {
    const dueTicks = this.#dueTicks
    const ids = this.#ids
    let place = from
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (dueTicks[parent]! <= dueTick) break
      this.#put(place, dueTicks[parent]!, ids[parent]!)
      place = parent
    }
    this.#put(place, dueTick, id)
  }

  #sink(from: number, dueTick: number, id: number): void {
    const dueTicks = this.#dueTicks
    const ids = this.#ids
    const size = ids.length
    let place = from
    for (;;) {
      let child = 2 * place + 1
      if (child >= size) break
      if (child + 1 < size && dueTicks[child + 1]! < dueTicks[child]!) child++
      if (dueTicks[child]! >= dueTick) break
      this.#put(place, dueTicks[child]!, ids[child]!)
      place = child
    }
    this.#put(place, dueTick, id)
  }

  #put(place: number, dueTick: number, id: number): void {
    this.#dueTicks[place] = dueTick
    this.#ids[place] = id
    this.#places[id] = place
  }
}
