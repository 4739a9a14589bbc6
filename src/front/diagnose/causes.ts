import type { EngineSettings, EngineStats } from '../../engine/index.js'
import { shown } from '../../error/index.js'
import type { PauseView } from '../../timer/index.js'

/** Why due timers do not fire, in plain words, and what to do about it. */
export interface Cause {
  readonly code: CauseCode
  readonly text: string
  readonly remedy: string
}

/** The stable name of a cause that keeps timers from firing. */
export type CauseCode =
  | 'clock-off'
  | 'lease-ended'
  | 'behind'
  | 'no-instance'
  | 'no-owner'
  | 'inbox-waiting'
  | 'all-paused'
  | 'kind-paused'
  | 'target-gone'
  | 'target-refused'
  | 'target-sealed'
  | 'breaker-open'
  | 'unhandled'
  | 'unreadable'

/** What an instance knows about its target for a kind that keeps it from firing. */
export type TargetTrouble = 'refused' | 'sealed' | 'open'

/** What is known about a kind. */
export interface KindFacts {
  readonly kind: string
  readonly isAllPaused: boolean
  /** Why the kind itself is paused, in every instance. */
  readonly pause: PauseView | undefined
  readonly trouble: TargetTrouble | undefined
  /** Whether any known instance has a handler or a target for it. */
  readonly isHandled: boolean
}

/** Causes in this instance itself: its clock, its leases, and shards that nobody owns. Readiness consists of them. */
export function instanceCauses(
  { shards, isClockOff, clockOffsetMs, unowned }: EngineStats,
  { stallMs, maxClockOffsetMs }: EngineSettings,
): readonly Cause[] {
  if (isClockOff) {
    return [
      {
        code: 'clock-off',
        text: `this machine's clock differs from the store's by ${clockOffsetMs} ms, more than ${maxClockOffsetMs}: this instance owns no shards until the clock is corrected`,
        remedy: 'synchronize the clocks of all machines and of the database with NTP',
      },
    ]
  }
  const causes: Cause[] = []
  const remedy = 'read the log of this instance, and check the store: docs/operations.md'
  for (const { shard, isLeased, behindMs } of shards) {
    if (!isLeased) causes.push({ code: 'lease-ended', text: `the lease of shard ${shard} has ended`, remedy })
    else if (behindMs > stallMs) {
      const text = `shard ${shard} is ${behindMs} ms behind: due timers do not fire`
      causes.push({ code: 'behind', text, remedy })
    }
  }
  for (const { shard, forMs } of unowned) {
    if (forMs <= stallMs) continue
    const text = `shard ${shard} has had no owner for ${forMs} ms: its timers do not fire`
    causes.push({ code: 'no-owner', text, remedy: OWNER_REMEDY })
  }
  return causes
}

const OWNER_REMEDY = 'start carillon serve, or check /readyz and the clock of every instance'

/** Timers that this instance could not read when they were due. */
export function unreadableCauses(count: number): readonly Cause[] {
  if (count === 0) return []
  return [
    {
      code: 'unreadable',
      text: `${count} timers could not be read when they were due, since this instance started: they are dead letters`,
      remedy: 'carillon dead shows them; carillon verify --deep finds what else is damaged',
    },
  ]
}

export interface ShardState {
  readonly shardCount: number
  readonly unowned: readonly number[]
  /** Shards whose inbox has requests. */
  readonly waiting: readonly number[]
}

/** Causes in the shards of a store, by their numbers. */
export function shardCauses({ shardCount, unowned, waiting }: ShardState): readonly Cause[] {
  const causes: Cause[] = []
  if (unowned.length === shardCount) {
    causes.push({
      code: 'no-instance',
      text: 'no instance is started: no shard has an owner',
      remedy: 'timers fire only while an instance runs: start carillon serve, or call start() in a program',
    })
  } else if (unowned.length > 0) {
    const text = `no instance owns shard ${unowned.join(', ')} of ${shardCount}: its timers do not fire`
    causes.push({ code: 'no-owner', text, remedy: OWNER_REMEDY })
  }
  if (waiting.length > 0) {
    causes.push({
      code: 'inbox-waiting',
      text: `a request waits in the inbox of shard ${waiting.join(', ')}`,
      remedy: 'its owner applies it within a second; if it stays, check the owner of the shard in /v1/shards',
    })
  }
  return causes
}

/** Why timers of a kind wait. */
export function kindCauses({ kind, isAllPaused, pause, trouble, isHandled }: KindFacts): readonly Cause[] {
  const name = shown(kind)
  const causes: Cause[] = []
  if (isAllPaused) {
    causes.push({
      code: 'all-paused',
      text: 'all kinds of this namespace are paused',
      remedy: 'resume them: carillon resume',
    })
  }
  if (pause?.isTargetGone === true) {
    causes.push({
      code: 'target-gone',
      text: `kind ${name} is paused: its target answered 410, it is gone`,
      remedy: `give it another target, then resume it: carillon resume ${kind}`,
    })
  } else if (pause !== undefined) {
    causes.push({
      code: 'kind-paused',
      text: `kind ${name} is paused${pause.by === undefined ? '' : ` by ${shown(pause.by)}`}${pause.note === undefined ? '' : `: ${pause.note}`}`,
      remedy: `resume it: carillon resume ${kind}`,
    })
  }
  if (trouble === 'open') {
    causes.push({
      code: 'breaker-open',
      text: `the target of kind ${name} fails: its breaker is open, so nothing is sent for a while`,
      remedy: 'look at the target; it is tried again by itself',
    })
  }
  if (trouble === 'refused') {
    causes.push({
      code: 'target-refused',
      text: `this instance cannot use the target of kind ${name}`,
      remedy: 'check the URL of the target and the guard of this instance (--webhook-…)',
    })
  }
  if (trouble === 'sealed') {
    causes.push({
      code: 'target-sealed',
      text: `the target of kind ${name} is sealed with a secret key that this instance does not have`,
      remedy: `give it the key (CARILLON_SECRET_KEY, or secret.key in the folder of a file store) and restart it, or set the target again: carillon targets set ${kind}`,
    })
  }
  if (!isHandled && trouble !== 'sealed' && trouble !== 'refused') {
    causes.push({
      code: 'unhandled',
      text: `no instance has a handler or a target for kind ${name}`,
      remedy: `set a target (PUT /v1/targets/${kind}), or start a program that handles the kind`,
    })
  }
  return causes
}
