import type { Random } from '../../random.js'

/** What a client does at one instant, at one instance. It is drawn before the run. */
export interface PlannedOperation {
  readonly id: number
  readonly at: number
  /** The machine, modulo their number. A negative one counts from the end. */
  readonly instance: number
  readonly action: Action
}

/** `dueInMs` counts from the instance's own now and may be negative. */
type Action =
  | {
      readonly type: 'set'
      readonly sets: readonly PlannedSet[]
      /** Where and how much later the same set is submitted a second time. */
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
  | { readonly type: 'read'; readonly kind: string; readonly key: string }

export interface PlannedSet {
  readonly identity: number
  readonly kind: string
  readonly key: string
  readonly dueInMs: number
  readonly condition: 'none' | 'if-absent' | 'if-revision'
}

/** What it must match: any timer of the name, or the identity or revision that the client saw last. */
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
  /** Share of sets for which another operation on the same timer arrives at about the due time. */
  readonly rivalChance: number
}

/** The scenes of a run use ids and identities from this one on. Those of a plan are smaller. */
export const FIRST_OF_SCENES = 1_000_000

export const simulatedKinds = ['bell', 'gong'] as const
export type SimulatedKind = (typeof simulatedKinds)[number]

// The second of two equal sets must come while the first timer exists: afterwards it would be a new timer.
const TWIN_DUE_MS = 40_000

// Some operations come in the calm: everything must work then, and no run is empty.
const FINALE = 10
export const FINALE_MS = 4000

export function drawOperations(random: Random, load: Workload): PlannedOperation[] {
  let lastIdentity = 0
  const drawn: Omit<PlannedOperation, 'id'>[] = []
  for (let count = 0; count < load.operations; count++) {
    const at = random.whole(0, load.untilMs)
    const action = drawAction()
    drawn.push({ at, instance: drawInstance(), action })
    const rival = drawRival(at, action)
    if (rival !== undefined) drawn.push(rival)
  }
  for (let count = 0; count < FINALE; count++) drawn.push(drawLast())
  drawn.sort((a, b) => a.at - b.at)
  return drawn.map(({ at, instance, action }, index) => ({ id: index + 1, at, instance, action }))

  function drawInstance(): number {
    return random.whole(0, load.instances - 1)
  }

  /** A cancel, move or set of the same timer at about its due time. */
  function drawRival(at: number, action: Action): Omit<PlannedOperation, 'id'> | undefined {
    const [set] = action.type === 'set' ? action.sets : []
    if (set === undefined || !random.chance(load.rivalChance)) return undefined
    const meetsAt = at + set.dueInMs + random.whole(-60, 20)
    if (meetsAt <= at || meetsAt >= load.untilMs) return undefined
    const name = { kind: set.kind, key: set.key }
    const type = random.pick(['cancel', 'cancel', 'move', 'set'] as const)
    const rival: Action =
      type === 'cancel'
        ? { type, ...name, aim: 'name' }
        : type === 'move'
          ? { type, ...name, dueInMs: drawDue(), aim: 'name' }
          : { type, sets: [drawSet(name, drawDue(), 'none')], again: undefined }
    return { at: meetsAt, instance: drawInstance(), action: rival }
  }

  function drawLast(): Omit<PlannedOperation, 'id'> {
    const name = { kind: random.pick(simulatedKinds), key: `last-${lastIdentity}` }
    const set = drawSet(name, random.scaled(1, 2000), 'none')
    return {
      at: load.untilMs + random.whole(FINALE_MS / 2, FINALE_MS),
      instance: drawInstance(),
      action: { type: 'set', sets: [set], again: undefined },
    }
  }

  function drawAction(): Action {
    const chance = random.fraction()
    if (chance < 0.16) return { type: 'cancel', ...drawName(), aim: drawAim() }
    if (chance < 0.32) return { type: 'move', ...drawName(), dueInMs: drawDue(), aim: drawAim() }
    if (random.chance(load.burstChance)) return drawBurst()
    if (random.chance(0.04)) return drawTwin()
    const name = random.chance(load.hotShare)
      ? drawName()
      : { kind: random.pick(simulatedKinds), key: `cold-${lastIdentity}` }
    const condition = random.chance(0.75) ? 'none' : random.pick(['if-absent', 'if-revision'] as const)
    return { type: 'set', sets: [drawSet(name, drawDue(), condition)], again: undefined }
  }

  function drawBurst(): Action {
    const dueInMs = random.chance(0.3) ? -random.whole(0, 2000) : random.scaled(1, 6000)
    const count = random.whole(3, load.mostInBurst)
    const sets = Array.from({ length: count }, (_, index) =>
      drawSet({ kind: random.pick(simulatedKinds), key: `burst-${lastIdentity}-${index}` }, dueInMs, 'none'),
    )
    return { type: 'set', sets, again: undefined }
  }

  function drawTwin(): Action {
    const dueInMs = TWIN_DUE_MS + random.whole(0, 5000)
    const set = drawSet({ kind: simulatedKinds[0], key: `twin-${lastIdentity}` }, dueInMs, 'none')
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
    return { kind: random.pick(simulatedKinds), key: `hot-${random.whole(1, load.hotKeys)}` }
  }

  function drawDue(): number {
    const chance = random.fraction()
    if (chance < 0.1) return -random.scaled(1, 10_000)
    if (chance < 0.18) return 0
    if (chance < 0.6) return random.scaled(1, 3000)
    if (chance < 0.85) return random.whole(0, 12_000)
    return random.whole(0, load.farMs)
  }

  function drawAim(): Aim {
    return random.chance(0.5) ? 'name' : random.pick(['identity', 'revision'] as const)
  }
}
