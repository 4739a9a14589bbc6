import type { Random } from '../../random.js'
import { type PlannedOperation, simulatedKinds } from './operation.js'
import type { PlannedInstance } from './plan.js'

// Above the identities and ids of the operations that every seed draws.
const FIRST_IDENTITY = 500_000
const FIRST_ID = 1001
const HOT_KEYS = 3

export interface Outsiders {
  /** Machines that never start: they set, move, cancel and read timers, and own no shard for longer than a moment. */
  readonly machines: readonly PlannedInstance[]
  /** What clients do there, and reads anywhere. */
  readonly operations: readonly PlannedOperation[]
}

/** Draws what outsiders do. They are the last machines of a run, and operations count them from the end. */
export function drawOutsiders(random: Random, untilMs: number): Outsiders {
  const machines = Array.from({ length: random.whole(1, 2) }, () => ({
    skewMs: random.whole(-400, 400),
    rate: 1 + random.between(-1e-3, 1e-3),
    startAfterMs: Infinity,
    bootAfterMs: random.chance(0.5) ? 0 : random.whole(1, untilMs),
    kinds: simulatedKinds,
  }))
  const outside = (): number => -random.whole(1, machines.length)
  const anywhere = (): number => random.whole(0, 11)
  let identity = FIRST_IDENTITY
  const operations = Array.from({ length: random.whole(20, 90) }, (_, index): PlannedOperation => {
    const common = { id: FIRST_ID + index, at: random.whole(0, untilMs) }
    const name = { kind: random.pick(simulatedKinds), key: `hot-${random.whole(1, HOT_KEYS)}` }
    const dueInMs = random.chance(0.3) ? random.whole(-1000, 50) : random.scaled(20, 8000)
    const chance = random.fraction()
    if (chance < 0.3) return { ...common, instance: anywhere(), action: { type: 'read', ...name } }
    if (chance < 0.4)
      return { ...common, instance: outside(), action: { type: 'cancel', ...name, aim: 'name' } }
    if (chance < 0.5)
      return { ...common, instance: outside(), action: { type: 'move', ...name, dueInMs, aim: 'name' } }
    const condition = random.chance(0.8) ? 'none' : 'if-absent'
    const set = { identity: ++identity, ...name, dueInMs, condition } as const
    return { ...common, instance: outside(), action: { type: 'set', sets: [set], again: undefined } }
  })
  return { machines, operations }
}
