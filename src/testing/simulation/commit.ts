import type { ShardRow, Store } from '../../store/index.js'

/** The calls whose commit is looked at. */
const watched = [
  'claim',
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
] as const

type WatchedName = (typeof watched)[number]

interface CallTo<Name extends WatchedName> {
  readonly name: Name
  readonly args: Parameters<Store[Name]>
  readonly answer: Awaited<ReturnType<Store[Name]>>
}

type CallToAny = { [Name in WatchedName]: CallTo<Name> }[WatchedName]

/** A call at the instant it happened in the store, with the shards as they stood before and after. */
export type Commit = CallToAny & {
  readonly before: readonly ShardRow[]
  readonly after: readonly ShardRow[]
}

/** The commit of a call, or undefined for one that changes nothing of interest. */
export function commitOf(
  name: keyof Store,
  args: readonly unknown[],
  answer: unknown,
  before: readonly ShardRow[],
  after: readonly ShardRow[],
): Commit | undefined {
  if (!(watched as readonly string[]).includes(name)) return undefined
  // The arguments and the answer are those of the method of this name: the compiler cannot see that from here.
  return { name, args, answer, before, after } as unknown as Commit
}
