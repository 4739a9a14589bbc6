import type { Random } from './random.js'

/** What a client does at an instant, at one of the instances. Drawn before the run. */
export interface PlannedOperation {
  readonly id: number
  readonly at: number
  readonly instance: number
  readonly action: Action
}

/** A timer is named by kind and key; `dueInMs` counts from the instance's own now, and may be negative. */
export type Action =
  | {
      readonly type: 'set'
      readonly sets: readonly PlannedSet[]
      /** Where the very same is submitted a second time, and how much later. */
      readonly again: { readonly instance: number; readonly afterMs: number } | undefined
    }
  | {
      readonly type: 'move'
      readonly kind: string
      readonly key: string
      readonly dueInMs: number
      readonly aim: Aim
    }
  | { readonly type: 'cancel'; readonly kind: string; readonly key: string; readonly aim: Aim }

export interface PlannedSet {
  readonly identity: number
  readonly kind: string
  readonly key: string
  readonly dueInMs: number
  readonly condition: 'none' | 'if-absent' | 'if-revision'
}

/** Whether it is meant for whatever has the name, for the last timer the client heard of, or its revision. */
export type Aim = 'name' | 'identity' | 'revision'

export interface Workload {
  readonly operations: number
  readonly untilMs: number
  readonly instances: number
  readonly hotKeys: number
  /** Share of sets on hot keys. */
  readonly hotShare: number
  readonly burstChance: number
  readonly mostInBurst: number
  readonly farMs: number
}

export const kinds = ['bell', 'gong'] as const

// The very same set comes again while the first still waits: nobody tells one apart that has come and gone.
const TWIN_DUE_MS = 40_000

// Some come when all is calm again: everything must work then, and no run does nothing.
const FINALE = 10
export const FINALE_MS = 4000

export function drawOperations(random: Random, load: Workload): PlannedOperation[] {
  let lastIdentity = 0
  const times = Array.from({ length: load.operations }, () => Math.round(random.between(0, load.untilMs)))
  times.sort((a, b) => a - b)
  const operations = times.map((at, index): PlannedOperation => ({
    id: index + 1,
    at,
    instance: random.whole(0, load.instances - 1),
    action: drawAction(),
  }))
  return [
    ...operations,
    ...Array.from({ length: FINALE }, (_, index) => drawLast(load.operations + index + 1)),
  ]

  function drawLast(id: number): PlannedOperation {
    const set = drawSet(
      { kind: random.pick(kinds), key: `last-${lastIdentity}` },
      random.scaled(1, 2000),
      'none',
    )
    return {
      id,
      at: load.untilMs + random.whole(FINALE_MS / 2, FINALE_MS),
      instance: random.whole(0, load.instances - 1),
      action: { type: 'set', sets: [set], again: undefined },
    }
  }

  function drawAction(): Action {
    const drawn = random.fraction()
    if (drawn < 0.16) return { type: 'cancel', ...drawName(), aim: drawAim() }
    if (drawn < 0.32) return { type: 'move', ...drawName(), dueInMs: drawDue(), aim: drawAim() }
    if (random.chance(load.burstChance)) return drawBurst()
    if (random.chance(0.04)) return drawTwin()
    const name = random.chance(load.hotShare)
      ? drawName()
      : { kind: random.pick(kinds), key: `cold-${lastIdentity}` }
    const condition = random.chance(0.75) ? 'none' : random.pick(['if-absent', 'if-revision'] as const)
    return { type: 'set', sets: [drawSet(name, drawDue(), condition)], again: undefined }
  }

  function drawBurst(): Action {
    const dueInMs = random.chance(0.3) ? -random.whole(0, 2000) : random.scaled(1, 6000)
    const count = random.whole(3, load.mostInBurst)
    const sets = Array.from({ length: count }, (_, index) =>
      drawSet({ kind: random.pick(kinds), key: `burst-${lastIdentity}-${index}` }, dueInMs, 'none'),
    )
    return { type: 'set', sets, again: undefined }
  }

  function drawTwin(): Action {
    const dueInMs = TWIN_DUE_MS + random.whole(0, 5000)
    const set = drawSet({ kind: kinds[0], key: `twin-${lastIdentity}` }, dueInMs, 'none')
    const again = { instance: random.whole(0, load.instances - 1), afterMs: random.whole(0, 300) }
    return { type: 'set', sets: [set], again }
  }

  function drawSet(
    name: { readonly kind: string; readonly key: string },
    dueInMs: number,
    condition: PlannedSet['condition'],
  ): PlannedSet {
    return { identity: ++lastIdentity, ...name, dueInMs, condition }
  }

  function drawName(): { kind: string; key: string } {
    return { kind: random.pick(kinds), key: `hot-${random.whole(1, load.hotKeys)}` }
  }

  function drawDue(): number {
    const drawn = random.fraction()
    if (drawn < 0.1) return -random.scaled(1, 10_000)
    if (drawn < 0.18) return 0
    if (drawn < 0.6) return random.scaled(1, 3000)
    if (drawn < 0.85) return random.whole(0, 12_000)
    return random.whole(0, load.farMs)
  }

  function drawAim(): Aim {
    return random.chance(0.5) ? 'name' : random.pick(['identity', 'revision'] as const)
  }
}
