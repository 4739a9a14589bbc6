import type { ShardRow, Store } from '../../../store/index.js'

/** The calls whose commits are checked. */
const watched = [
  'acquire',
  'renew',
  'refence',
  'release',
  'load',
  'lower',
  'write',
  'settle',
  'sweep',
  'append',
  'requests',
  'heartbeat',
  'removeMember',
] as const

type WatchedName = (typeof watched)[number]

const watchedNames: ReadonlySet<string> = new Set(watched)

/** Whether the commits of a call are checked. */
export function isWatched(name: keyof Store): name is WatchedName {
  return watchedNames.has(name)
}

interface CallTo<Name extends WatchedName> {
  readonly name: Name
  readonly args: Parameters<Store[Name]>
  readonly answer: Awaited<ReturnType<Store[Name]>>
}

type CallToAny = { [Name in WatchedName]: CallTo<Name> }[WatchedName]

/** A call at the instant of its commit, with the shard rows before and after. */
export type Commit = CallToAny & {
  readonly before: readonly ShardRow[]
  readonly after: readonly ShardRow[]
}

export function commitOf(
  name: WatchedName,
  args: readonly unknown[],
  answer: unknown,
  before: readonly ShardRow[],
  after: readonly ShardRow[],
): Commit {
  // The arguments and the answer belong to the method of this name, which the compiler cannot know here.
  return { name, args, answer, before, after } as unknown as Commit
}
