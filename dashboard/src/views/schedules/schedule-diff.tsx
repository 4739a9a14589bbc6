import type { JSX } from 'preact'
import type { Occurrence, Preview, ScheduleJson } from '../../api/types.ts'
import { useResource } from '../../state/resource.ts'
import { Notice } from '../../ui/basics.tsx'
import { plural } from '../../ui/format.ts'

const COMPARED = 100
const SHOWN = 8

/** What a change of a schedule adds and removes, over as many occurrences as both have been asked for. */
export function ScheduleDiff({
  before,
  after,
}: {
  readonly before: ScheduleJson
  readonly after: ScheduleJson
}): JSX.Element | null {
  const isSame = JSON.stringify(before) === JSON.stringify(after)
  const both = useResource(
    `diff ${JSON.stringify([before, after])}`,
    isSame
      ? undefined
      : async (api, signal) =>
          await Promise.all(
            [before, after].map((on) =>
              api.send<Preview>('POST', '/v1/schedules/preview', { on, count: COMPARED }, { signal }),
            ),
          ),
  )
  if (isSame) return <p class="muted">The schedule is unchanged.</p>
  const [old, fresh] = both.data ?? []
  if (old === undefined || fresh === undefined) return null
  const { added, removed, isComplete } = difference(old.occurrences, fresh.occurrences)
  if (added.length === 0 && removed.length === 0)
    return <Notice>The next {plural(COMPARED, 'occurrence')} stay as they are.</Notice>
  return (
    <section class="diff" aria-label="What the change does">
      <h3>What the change does</h3>
      <p class="muted">
        {plural(removed.length, 'occurrence')} {removed.length === 1 ? 'goes' : 'go'},{' '}
        {plural(added.length, 'occurrence')} {added.length === 1 ? 'comes' : 'come'}
        {isComplete ? '' : `, among the next ${COMPARED}`}.
      </p>
      <ul>
        {[...removed.map((each) => ({ each, sign: '−' })), ...added.map((each) => ({ each, sign: '+' }))]
          .toSorted((a, b) => a.each.at - b.each.at)
          .slice(0, SHOWN)
          .map(({ each, sign }) => (
            <li key={`${sign}${each.at}`} class={sign === '+' ? 'added' : 'removed'}>
              <span aria-hidden="true">{sign}</span>
              <span class="offscreen">{sign === '+' ? 'new: ' : 'no longer: '}</span>
              {each.local.replace('T', ' ')} {each.offset}
            </li>
          ))}
      </ul>
      {added.length + removed.length > SHOWN && (
        <p class="muted">And {added.length + removed.length - SHOWN} more.</p>
      )}
    </section>
  )
}

/** Compares two lists up to where both are known. */
function difference(
  before: readonly Occurrence[],
  after: readonly Occurrence[],
): {
  readonly added: readonly Occurrence[]
  readonly removed: readonly Occurrence[]
  readonly isComplete: boolean
} {
  const ends = [before, after].filter((list) => list.length === COMPARED).map((list) => list.at(-1)!.at)
  const until = Math.min(Infinity, ...ends)
  const [old, fresh] = [before, after].map((list) => new Set(list.map(({ at }) => at)))
  return {
    added: after.filter(({ at }) => at <= until && !old!.has(at)),
    removed: before.filter(({ at }) => at <= until && !fresh!.has(at)),
    isComplete: ends.length === 0,
  }
}
