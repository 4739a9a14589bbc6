/**
 * go-zero's timing wheel in plain JavaScript: a ring of slots, each a doubly linked list of objects, and a Map from key to
 * object. A timer that is due after more than one turn counts its turns in `circle`. A timer that was moved to a later slot
 * keeps the distance in `diff`, and moves on when its old slot comes. A timer that was moved nearer or removed is marked,
 * and removed when its slot comes. Keys are replaced and removed as in go-zero.
 */
export class PlainWheel<K, V> {
  readonly #slots: List<K, V>[]
  readonly #items = new Map<K, Item<K, V>>()
  readonly #execute: (key: K, value: V) => void
  #tickedPos: number

  constructor(slots: number, execute: (key: K, value: V) => void) {
    this.#slots = Array.from({ length: slots }, () => new List<K, V>())
    this.#tickedPos = slots - 1
    this.#execute = execute
  }

  set(key: K, value: V, delayTicks: number): void {
    const known = this.#items.get(key)
    if (known !== undefined) {
      known.value = value
      this.#moveItem(known, delayTicks)
      return
    }
    const { pos, circle } = this.#placeOf(delayTicks)
    this.#place(new Item(key, value, pos, circle))
  }

  move(key: K, delayTicks: number): boolean {
    const item = this.#items.get(key)
    if (item === undefined) return false
    this.#moveItem(item, delayTicks)
    return true
  }

  remove(key: K): boolean {
    const item = this.#items.get(key)
    if (item === undefined) return false
    item.removed = true
    this.#items.delete(key)
    return true
  }

  tick(): void {
    this.#tickedPos = (this.#tickedPos + 1) % this.#slots.length
    const list = this.#slots[this.#tickedPos]!
    const due: Item<K, V>[] = []
    let item = list.first
    while (item !== undefined) {
      const { next } = item
      if (item.removed) list.remove(item)
      else if (item.circle > 0) item.circle--
      else {
        list.remove(item)
        if (item.diff > 0) {
          item.pos = (this.#tickedPos + item.diff) % this.#slots.length
          item.diff = 0
          this.#slots[item.pos]!.pushBack(item)
        } else {
          this.#items.delete(item.key)
          due.push(item)
        }
      }
      item = next
    }
    for (const { key, value } of due) this.#execute(key, value)
  }

  #moveItem(item: Item<K, V>, delayTicks: number): void {
    if (delayTicks < 1) {
      item.removed = true
      this.#items.delete(item.key)
      this.#execute(item.key, item.value)
      return
    }
    const { pos, circle } = this.#placeOf(delayTicks)
    // Compares distances from the current slot. go-zero compares positions, and is a turn late past the wrap.
    const way = this.#distanceTo(pos) - this.#distanceTo(item.pos)
    if (way >= 0) {
      item.circle = circle
      item.diff = way
    } else if (circle > 0) {
      item.circle = circle - 1
      item.diff = this.#slots.length + way
    } else {
      item.removed = true
      this.#place(new Item(item.key, item.value, pos, 0))
    }
  }

  #place(item: Item<K, V>): void {
    this.#slots[item.pos]!.pushBack(item)
    this.#items.set(item.key, item)
  }

  #placeOf(delayTicks: number): { pos: number; circle: number } {
    const slots = this.#slots.length
    const steps = Math.max(1, delayTicks)
    return { pos: (this.#tickedPos + steps) % slots, circle: Math.floor((steps - 1) / slots) }
  }

  #distanceTo(pos: number): number {
    return (pos - this.#tickedPos - 1 + this.#slots.length) % this.#slots.length
  }
}

class Item<K, V> {
  readonly key: K
  value: V
  pos: number
  circle: number
  diff = 0
  removed = false
  next: Item<K, V> | undefined = undefined
  previous: Item<K, V> | undefined = undefined

  constructor(key: K, value: V, pos: number, circle: number) {
    this.key = key
    this.value = value
    this.pos = pos
    this.circle = circle
  }
}

class List<K, V> {
  first: Item<K, V> | undefined = undefined
  last: Item<K, V> | undefined = undefined

  pushBack(item: Item<K, V>): void {
    item.previous = this.last
    item.next = undefined
    if (this.last === undefined) this.first = item
    else this.last.next = item
    this.last = item
  }

  remove(item: Item<K, V>): void {
    if (item.previous === undefined) this.first = item.next
    else item.previous.next = item.next
    if (item.next === undefined) this.last = item.previous
    else item.next.previous = item.previous
  }
}
