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

/** The commit of a call; undefined for a call that is not checked. */
export function commitOf(
  name: keyof Store,
  args: readonly unknown[],
  answer: unknown,
  before: readonly ShardRow[],
  after: readonly ShardRow[],
): Commit | undefined {
  if (!(watched as readonly string[]).includes(name)) return undefined
  // The arguments and the answer belong to the method of this name, which the compiler cannot know here.
  return { name, args, answer, before, after } as unknown as Commit
}
