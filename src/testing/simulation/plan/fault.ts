import type { Store } from '../../../store/index.js'
import type { Random } from '../../random.js'
import { type SimulatedKind, simulatedKinds } from './operation.js'
import type { Theme } from './theme.js'

/** Something that goes wrong at one instant. Faults are drawn before the run, so any of them can be left out. */
export type Fault = {
  readonly id: number
  readonly at: number
  readonly instance: number
  /** The theme that drew it; undefined for the faults that every seed draws. */
  readonly theme?: Theme
} & FaultKind

export type FaultKind =
  /**
   * The process ends, either at once or right after it sends the next matching call. The calls that it sent happen, are
   * lost, or happen late.
   */
  | {
      readonly type: 'crash'
      readonly upon: CallFilter | undefined
      readonly downMs: number
      readonly isSameMember: boolean
      readonly sent: 'commits' | 'is-lost' | 'commits-late'
    }
  /** It stops in good order and starts again later. */
  | { readonly type: 'stop'; readonly downMs: number }
  /** Wakes and answers are held back, either at once or right after it sends the next matching call. */
  | { readonly type: 'pause'; readonly upon: CallFilter | undefined; readonly forMs: number }
  /** Calls are refused, lost on the way to the store, or their answers are lost on the way back. */
  | { readonly type: 'partition'; readonly forMs: number; readonly mode: 'refused' | 'silent' | 'deaf' }
  /** The next matching calls go wrong. */
  | {
      readonly type: 'calls'
      readonly calls: CallFilter
      readonly count: number
      readonly fate: CallFate
      readonly delayMs: number
    }
  /** The machine's wall clock is set, and set right later. */
  | { readonly type: 'jump'; readonly byMs: number; readonly forMs: number }
  | { readonly type: 'drift'; readonly rate: number }
  /** Wake-ups of the store are lost or late. */
  | { readonly type: 'wakes'; readonly forMs: number; readonly delayMs: number | undefined }
  /** The next attempts take long or never end. */
  | { readonly type: 'handlers'; readonly count: number; readonly takesMs: number | undefined }
  /** The next attempts block the event loop of their process. */
  | { readonly type: 'blocks'; readonly count: number; readonly forMs: number }
  /** The store's clock is set, and set right later. With `isEverywhere`, so are the clocks of all machines. */
  | {
      readonly type: 'store-jump'
      readonly byMs: number
      readonly forMs: number
      readonly isEverywhere: boolean
    }
  | { readonly type: 'store-drift'; readonly rate: number }
  /** The store loses power: calls that it has not answered did not happen. It is back after a while. */
  | { readonly type: 'power'; readonly downMs: number }
  /** A kind has no handler at this machine, or is paused. */
  | { readonly type: 'closed'; readonly kind: SimulatedKind; readonly forMs: number }

export type CallFate = 'error-before' | 'error-after' | 'late-commit' | 'slow-commit' | 'slow-answer'

export type CallFilter = 'any' | 'owner' | keyof Store

const ownerCalls: ReadonlySet<keyof Store> = new Set([
  'load',
  'lower',
  'write',
  'settle',
  'sweep',
  'requests',
])

export function isMeant(filter: CallFilter, call: keyof Store): boolean {
  return filter === 'any' || filter === call || (filter === 'owner' && ownerCalls.has(call))
}

/** How often each type is drawn, relative to the others. */
export type FaultWeights = Readonly<Record<DrawnType, number>>

/** Faults of type 'closed' and those of themes have streams of their own. */
type DrawnType = Exclude<Fault['type'], 'closed' | 'blocks' | 'store-jump' | 'store-drift' | 'power'>

export const MAX_LATE_MS = 20_000

export function drawFaults(
  { faults: random, closings }: { readonly faults: Random; readonly closings: Random },
  weights: FaultWeights,
  count: number,
  untilMs: number,
  instances: number,
): Fault[] {
  const kinds: DrawnType[] = []
  const bounds: number[] = []
  let total = 0
  for (const [type, weight] of Object.entries(weights)) {
    total += weight
    kinds.push(type as DrawnType)
    bounds.push(total)
  }
  const times = Array.from({ length: count }, () => Math.round(random.between(300, untilMs)))
  times.sort((a, b) => a - b)
  const faults = times.map((at, index): Fault => {
    const drawn = random.fraction() * total
    const kind = drawKind(random, kinds[bounds.findIndex((bound) => drawn < bound)]!)
    return Object.assign(kind, { id: index + 1, at, instance: random.whole(0, instances - 1) })
  })
  const most = closings.chance(0.5) ? 0 : closings.whole(1, 5)
  for (let id = count + 1; id <= count + most; id++) {
    faults.push({
      type: 'closed',
      kind: closings.pick(simulatedKinds),
      forMs: closings.scaled(500, 20_000),
      id,
      at: Math.round(closings.between(300, untilMs)),
      instance: closings.whole(0, instances - 1),
    })
  }
  return faults
}

function drawKind(random: Random, type: DrawnType): FaultKind {
  switch (type) {
    case 'crash':
      return {
        type,
        upon: drawUpon(random),
        downMs: random.scaled(100, 12_000),
        isSameMember: random.chance(0.5),
        sent: random.pick(['commits', 'is-lost', 'commits-late']),
      }
    case 'stop':
      return { type, downMs: random.scaled(50, 6000) }
    case 'pause':
      return { type, upon: drawUpon(random), forMs: random.scaled(30, 15_000) }
    case 'partition':
      return { type, forMs: random.scaled(100, 10_000), mode: random.pick(['refused', 'silent', 'deaf']) }
    case 'calls':
      return {
        type,
        calls: random.pick([
          'any',
          'owner',
          'write',
          'write',
          'settle',
          'settle',
          'load',
          'append',
          'renew',
          'renew',
          'acquire',
          'refence',
          'lower',
          'release',
          'requests',
        ]),
        count: random.chance(0.7) ? 1 : random.whole(2, 4),
        fate: random.pick([
          'error-before',
          'error-after',
          'error-after',
          'late-commit',
          'late-commit',
          'slow-commit',
          'slow-answer',
        ]),
        delayMs: random.scaled(50, MAX_LATE_MS),
      }
    case 'jump': {
      const size = random.chance(0.75) ? random.scaled(20, 900) : random.scaled(900, 30_000)
      return { type, byMs: random.chance(0.5) ? size : -size, forMs: random.scaled(200, 10_000) }
    }
    case 'drift':
      return { type, rate: 1 + random.between(-1e-3, 1e-3) }
    case 'wakes':
      return {
        type,
        forMs: random.scaled(500, 10_000),
        delayMs: random.chance(0.5) ? undefined : random.scaled(50, 3000),
      }
    case 'handlers':
      return {
        type,
        count: random.whole(1, 4),
        takesMs: random.chance(0.4) ? undefined : random.scaled(500, 15_000),
      }
  }
}

function drawUpon(random: Random): CallFilter | undefined {
  if (random.chance(0.5)) return undefined
  return random.pick([
    'owner',
    'write',
    'settle',
    'settle',
    'load',
    'renew',
    'renew',
    'acquire',
    'refence',
    'append',
  ])
}
