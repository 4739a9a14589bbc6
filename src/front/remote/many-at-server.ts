import type { Client } from '../../client/index.js'
import { CarillonError, checkOptions, PartialError, type PartialRow } from '../../error/index.js'
import { checkKey, type TimerView } from '../../timer/index.js'
import type { ManyOptions, ManyOutcome } from '../many-changes.js'
import type { Many } from '../selection.js'

const AT_ONCE = 1000

/** How one of many is changed. */
interface Change<Outcome> {
  readonly byKeys: (
    kind: string | { readonly name: string },
    keys: readonly string[],
  ) => Promise<readonly Outcome[]>
  readonly byHandle: (handle: string) => Promise<Outcome>
}

/** Moves or cancels many timers of a server: those of keys in batches, those that a query finds one by one. */
export class ManyAtServer {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  async change<Outcome extends string>(
    many: Many,
    { dryRun = false }: ManyOptions,
    change: Change<Outcome | 'conflict'>,
  ): Promise<ManyOutcome<Outcome>> {
    if ('keys' in many) {
      checkOptions('a call on many', many, ['kind', 'keys'])
      const { kind, keys } = many
      for (const key of keys) checkKey(key)
      return counted(keys.length, dryRun ? [] : await change.byKeys(kind, keys))
    }
    checkOptions('a call on many', many, ['kind', 'keyPrefix', 'tag', 'dueFrom', 'dueUntil'])
    // All of them first: a moved timer would otherwise be found again farther on.
    const found: TimerView[] = []
    for await (const timer of this.#client.each(many)) found.push(timer)
    return counted(found.length, dryRun ? [] : await changeEach(found, change.byHandle))
  }
}

/** By handle, so that no later timer of the same key is hit. */
async function changeEach<Outcome>(
  found: readonly TimerView[],
  change: (handle: string) => Promise<Outcome>,
): Promise<readonly Outcome[]> {
  const rows: PartialRow<Outcome>[] = []
  for (let at = 0; at < found.length; at += AT_ONCE) {
    const part = await Promise.all(found.slice(at, at + AT_ONCE).map((timer) => changed(timer, change)))
    rows.push(...part)
    if (part.some(({ error }) => error !== undefined))
      throw new PartialError(rows, found.length - rows.length)
  }
  return rows.map(({ answer }) => answer!)
}

async function changed<Outcome>(
  { kind, key, handle }: TimerView,
  change: (handle: string) => Promise<Outcome>,
): Promise<PartialRow<Outcome>> {
  try {
    return { kind, key, answer: await change(handle) }
  } catch (error) {
    if (error instanceof CarillonError) return { kind, key, error }
    throw error
  }
}

function counted<Outcome extends string>(found: number, outcomes: readonly string[]): ManyOutcome<Outcome> {
  const counts: Record<string, number> & { found: number } = { found }
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1
  return counts
}
