import type { Client } from '../../client/index.js'
import { checkOptions } from '../../error/index.js'
import { checkKey } from '../../timer/index.js'
import { checkedManyOptions, type ManyOptions, type ManyOutcome } from '../change/many-changes.js'
import { type Many, tooManyTimers } from '../change/selection.js'
import { checkQuery } from '../read/timer-query.js'

/** How to change timers, many in one request. */
interface Change<Outcome> {
  readonly byKeys: (
    kind: string | { readonly name: string },
    keys: readonly string[],
  ) => Promise<readonly Outcome[]>
  readonly byHandles: (handles: readonly string[]) => Promise<readonly Outcome[]>
}

/**
 * Moves or cancels many timers of a server in batches, by key or by query. Proven by test/client/requests.test.ts and
 * test/client/remote-timers.test.ts.
 */
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
    const { dryRun = false, maxFound = Infinity } = checkedManyOptions(options)
    if ('keys' in many) {
      checkOptions('a call on many', many, ['kind', 'keys'])
      const { kind, keys } = many
      for (const key of keys) checkKey(key)
      return counted(keys.length, dryRun ? [] : await change.byKeys(kind, keys))
    }
    checkQuery('a call on many', many)
    // Finds all of them before the first change, because the cursor could meet a moved timer again. Changes them by
    // handle, so that a later timer with the same key is not changed.
    const handles: string[] = []
    for await (const { handle } of this.#client.each(many)) {
      handles.push(handle)
      if (handles.length > maxFound) throw tooManyTimers(maxFound)
    }
    return counted(handles.length, dryRun ? [] : await change.byHandles(handles))
  }
}

function counted<Outcome extends string>(found: number, outcomes: readonly string[]): ManyOutcome<Outcome> {
  const counts: Record<string, number> & { found: number } = { found }
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1
  return counts
}
