import { Wheel } from 'carillon/wheel'
import { describe, expect, it } from 'vitest'
import { NaiveWheel } from './naive-wheel.js'
import { Random } from './random.js'

const SEEDS = 240
const STEPS_PER_SEED = 5000
// It takes seconds on an idle machine, and minutes on a busy one.
const MAX_MS = 600_000

const activity = { operations: 0, fired: 0, staleCalls: 0, nested: 0, aborted: 0 }

describe('Wheel, compared with a naive model', () => {
  it(
    `agrees in ${SEEDS} seeds of ${STEPS_PER_SEED} random steps`,
    () => {
      for (let seed = 1; seed <= SEEDS; seed++) new Run(seed).steps(STEPS_PER_SEED)
      // A run in which nothing fires proves nothing.
      expect(activity.operations).toBeGreaterThan(1_000_000)
      expect(activity.fired).toBeGreaterThan(200_000)
      expect(activity.staleCalls).toBeGreaterThan(50_000)
      expect(activity.nested).toBeGreaterThan(50_000)
      expect(activity.aborted).toBeGreaterThan(500)
    },
    MAX_MS,
  )
})

class Run {
  readonly #seed: number
  readonly #random: Random
  readonly #model: NaiveWheel
  readonly #wheel: Wheel
  // Recent handles, including those of timers that are gone, each with the model's name for it.
  readonly #known: { handle: number; id: number }[] = []
  readonly #firstToken: number
  readonly #reaches: readonly number[]
  readonly #jumps: readonly number[]
  readonly #mostTimers: number
  readonly #abortChance: number
  readonly #nestedChance: number
  #last: { handle: number; id: number } = { handle: 0, id: 0 }
  #depth = 0

  constructor(seed: number) {
    this.#seed = seed
    this.#random = new Random(seed * 7919)
    const random = this.#random
    const startTick = random.pick([
      0,
      0,
      250,
      65_530,
      2 ** 31 - 600,
      2 ** 32 - 300,
      1_800_000_000_000,
      2 ** 52,
    ])
    this.#model = new NaiveWheel(startTick)
    this.#wheel = startTick === 0 ? new Wheel() : new Wheel({ startTick })
    this.#firstToken = random.pick([0, 0, 2 ** 31 - 50, 2 ** 32 - 50, 2 ** 52])
    const scale = random.pick([
      [3, 10],
      [10, 300, 600],
      [300, 2000, 140_000],
      [500, 70_000, 2 ** 25],
      [5000, 2 ** 26, 2 ** 31, 2 ** 33],
      [2 ** 20, 2 ** 31, 2 ** 36, 2 ** 45],
    ])
    this.#reaches = scale
    this.#jumps = random.chance(0.3) ? [1] : [1, 3, ...scale]
    this.#mostTimers = random.pick([5, 40, 40, 150])
    this.#nestedChance = random.pick([0.1, 0.3, 0.75])
    this.#abortChance = random.chance(0.3) ? 0.02 : 0
  }

  steps(count: number): void {
    for (let step = 0; step < count; step++) {
      if (this.#random.chance(0.25)) this.#advance()
      else this.#operate()
      if (this.#random.chance(0.1)) this.#checkReadings()
      if (this.#random.chance(0.0005)) this.#drain()
    }
    this.#advanceTo(Math.min(this.#model.tick + 2 ** 50, Number.MAX_SAFE_INTEGER))
    this.#checkReadings()
  }

  #operate(): void {
    activity.operations++
    if (this.#depth > 0) activity.nested++
    const random = this.#random
    const dice = random.fraction()
    if (this.#known.length === 0 || (dice < 0.5 && this.#model.size < this.#mostTimers)) {
      const dueTick = this.#someTick()
      const id = this.#model.set(dueTick)
      this.#known.push({ handle: this.#wheel.set(dueTick, this.#firstToken + id), id })
      if (this.#known.length > 400) this.#known.splice(random.below(100), 1)
      return
    }
    // Sometimes pick the same timer again: moving one that was just moved is the hard case.
    const { handle, id } = random.chance(0.2) ? this.#last : random.pick(this.#known)
    this.#last = { handle, id }
    const before = this.#model.dueTickOf(id)
    if (before === undefined) activity.staleCalls++
    if (dice < 0.75) {
      const dueTick = before !== undefined && random.chance(0.3) ? this.#near(before) : this.#someTick()
      this.#same(this.#wheel.move(handle, dueTick), this.#model.move(id, dueTick), `move ${id} to ${dueTick}`)
    } else {
      this.#same(this.#wheel.cancel(handle), this.#model.cancel(id), `cancel ${id}`)
    }
  }

  #advance(): void {
    const reach = this.#random.pick(this.#jumps)
    const earliest = this.#model.earliest()
    // Often stop right at, before or after a due tick.
    const to =
      earliest !== undefined && earliest > this.#model.tick && this.#random.chance(0.4)
        ? this.#near(earliest)
        : this.#model.tick + this.#random.below(reach + 1)
    this.#advanceTo(Math.max(to, this.#model.tick))
  }

  #advanceTo(tick: number): void {
    const target = Math.min(tick, Number.MAX_SAFE_INTEGER)
    const wheel = this.#wheel
    const model = this.#model
    model.beginAdvance(target)
    const ouch = new Error('ouch')
    let fired = 0
    this.#depth++
    try {
      const count = wheel.advance(target, (token, dueTick) => {
        fired++
        activity.fired++
        const id = token - this.#firstToken
        if (!model.fired(id, dueTick))
          this.#fail(`fired ${id} due ${dueTick}, expected due ${model.expected()}`)
        this.#same(wheel.tick, model.tick, 'tick inside fire')
        while (this.#random.chance(this.#nestedChance)) this.#operate()
        if (this.#random.chance(0.1)) this.#checkReadings()
        if (this.#random.chance(this.#abortChance)) throw ouch
      })
      this.#same(count, fired, 'count fired')
      this.#same(model.expected(), undefined, `left unfired by an advance to ${target}`)
      model.endAdvance(false)
    } catch (error) {
      if (error !== ouch) throw error
      activity.aborted++
      model.endAdvance(true)
    }
    this.#depth--
    this.#same(wheel.tick, model.tick, 'tick')
  }

  #drain(): void {
    const drained: number[] = []
    this.#wheel.drain((token, dueTick) => {
      const id = token - this.#firstToken
      this.#same(dueTick, this.#model.dueTickOf(id), `drained ${id}`)
      drained.push(id)
    })
    for (const id of drained) this.#same(this.#model.cancel(id), true, `drain ${id}`)
    this.#same(this.#model.size, 0, 'left by drain')
  }

  #checkReadings(): void {
    this.#same(this.#wheel.size, this.#model.size, 'size')
    const earliest = this.#model.earliest()
    const nextDue = this.#wheel.nextDue()
    this.#same(nextDue === undefined, earliest === undefined, 'nextDue undefined exactly when empty')
    if (earliest !== undefined && nextDue! > earliest)
      this.#fail(`nextDue ${nextDue} after earliest ${earliest}`)
    const { entries, size } = this.#wheel.stats()
    // Inside fire some timers are out of the slots and not fired yet.
    if (this.#depth === 0 && entries < size) this.#fail(`${entries} entries for ${size} timers`)
  }

  #someTick(): number {
    const random = this.#random
    if (random.chance(0.1)) return Math.max(this.#model.tick - random.below(random.pick(this.#reaches)), 0)
    if (random.chance(0.1)) return this.#near(this.#model.tick)
    return Math.min(this.#model.tick + random.below(random.pick(this.#reaches)), Number.MAX_SAFE_INTEGER)
  }

  #near(tick: number): number {
    return Math.min(Math.max(tick + this.#random.below(5) - 2, 0), Number.MAX_SAFE_INTEGER)
  }

  #same(actual: unknown, expected: unknown, what: string): void {
    if (actual !== expected) this.#fail(`${what}: got ${String(actual)}, expected ${String(expected)}`)
  }

  #fail(what: string): never {
    throw new Error(`seed ${this.#seed}, tick ${this.#model.tick}: ${what}`)
  }
}
