import type { Client } from '../../client/index.js'
import { CarillonError, checkOptions, PartialError, type PartialRow } from '../../error/index.js'
import { checkKey, type TimerView } from '../../timer/index.js'
import { checkedManyOptions, type ManyOptions, type ManyOutcome } from '../change/many-changes.js'
import type { Many } from '../change/selection.js'
import { BATCH_ROWS } from '../defaults.js'

/** How to change timers. */
interface Change<Outcome> {
  readonly byKeys: (
    kind: string | { readonly name: string },
    keys: readonly string[],
  ) => Promise<readonly Outcome[]>
  readonly byHandle: (handle: string) => Promise<Outcome>
}

/** Moves or cancels many timers of a server: by key in batches, and by query one by one. */
export class ManyAtServer {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  async change<Outcome extends string>(
    many: Many,
    options: ManyOptions,
    change: Change<Outcome | 'conflict'>,
  ): Promise<ManyOutcome<Outcome>> {
    const { dryRun = false } = checkedManyOptions(options)
    if ('keys' in many) {
      checkOptions('a call on many', many, ['kind', 'keys'])
      const { kind, keys } = many
      for (const key of keys) checkKey(key)
      return counted(keys.length, dryRun ? [] : await change.byKeys(kind, keys))
    }
    checkOptions('a call on many', many, ['kind', 'keyPrefix', 'tag', 'dueFrom', 'dueUntil'])
    // Finds all of them before the first change, because the cursor could meet a moved timer again.
    const found: TimerView[] = []
    for await (const timer of this.#client.each(many)) found.push(timer)
    return counted(found.length, dryRun ? [] : await changeEach(found, change.byHandle))
  }
}

/** Changes timers by handle, so that a later timer with the same key is not changed. */
async function changeEach<Outcome>(
  found: readonly TimerView[],
  change: (handle: string) => Promise<Outcome>,
): Promise<readonly Outcome[]> {
  const rows: PartialRow<Outcome>[] = []
  for (let at = 0; at < found.length; at += BATCH_ROWS) {
    const part = await Promise.all(found.slice(at, at + BATCH_ROWS).map((timer) => changed(timer, change)))
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
