import type { JSX } from 'preact'
import type { Occurrence } from '../../api/types.ts'
import { now } from '../../state/clock.ts'
import { shownZone } from '../../state/preferences.ts'
import { instant, iso, relative } from '../../ui/format.ts'

/** Occurrences in the zone of their schedule, with the reason for every adjustment. */
export function Occurrences({ occurrences }: { readonly occurrences: readonly Occurrence[] }): JSX.Element {
  if (occurrences.length === 0) return <p class="muted">It has no further occurrence.</p>
  return (
    <ol class="occurrences">
      {occurrences.map(({ at, local, offset, reasons }) => (
        <li key={at}>
          <time dateTime={iso(at)}>
            <strong>{local.replace('T', ' ')}</strong> <span class="muted">{offset}</span>
          </time>
          <span class="muted">
            {relative(at, now.value)} · {instant(at, shownZone())}
          </span>
          {reasons.map((reason) => (
            <span key={reason} class="reason">
              {reason}
            </span>
          ))}
        </li>
      ))}
    </ol>
  )
}
