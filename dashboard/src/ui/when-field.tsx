import { type Signal, signal } from '@preact/signals'
import type { JSX } from 'preact'
import { now } from '../state/clock.ts'
import { viewerZone } from '../state/preferences.ts'
import { Choice } from './basics.tsx'
import { TextField } from './form.tsx'
import { instant, relative } from './format.ts'

/** A due time as somebody enters it: a length of time from now, or an instant. */
export interface WhenGiven {
  readonly mode: Signal<'in' | 'at'>
  readonly length: Signal<string>
  readonly at: Signal<string>
}

export function whenGiven(mode: 'in' | 'at', at: number = now.peek() + 3_600_000): WhenGiven {
  return { mode: signal(mode), length: signal('1h'), at: signal(localText(at)) }
}

/** The fields of a request. Throws if the instant cannot be read; the server checks a length of time. */
export function whenOf({ mode, length, at }: WhenGiven): { readonly in: string } | { readonly at: number } {
  if (mode.value === 'in') {
    if (length.value.trim() === '') throw new Error('Enter how long from now, such as 5m or 1h30m.')
    return { in: length.value.trim() }
  }
  const instantGiven = Date.parse(at.value)
  if (Number.isNaN(instantGiven)) throw new Error('Enter a date and a time.')
  return { at: instantGiven }
}

export function WhenField({ when }: { readonly when: WhenGiven }): JSX.Element {
  const at = Date.parse(when.at.value)
  return (
    <>
      <Choice
        label="How to give the due time"
        value={when.mode.value}
        options={[
          ['in', 'From now'],
          ['at', 'At a time'],
        ]}
        choose={(mode) => (when.mode.value = mode)}
      />
      {when.mode.value === 'in' ? (
        <TextField
          label="Due in"
          value={when.length.value}
          input={(value) => (when.length.value = value)}
          hint="Such as 30s, 5m, 1h30m or 2d."
          required
        />
      ) : (
        <TextField
          label={`Due at, on the clocks of ${viewerZone}`}
          type="datetime-local"
          step={1}
          value={when.at.value}
          input={(value) => (when.at.value = value)}
          hint={Number.isNaN(at) ? undefined : `${relative(at, now.value)} · ${instant(at, 'UTC')}`}
          required
        />
      )}
    </>
  )
}

/** An instant as a date field has it, in the zone of the browser. */
export function localText(at: number): string {
  const date = new Date(at)
  return new Date(at - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}
