import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { DeadLetter, HistoryEvent, Why } from '../../api/types.ts'
import { Badge, Button, When } from '../../ui/basics.tsx'
import { duration, instant } from '../../ui/format.ts'
import type { IconName } from '../../ui/icon.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Json } from '../../ui/json.tsx'
import { shownZone } from '../../state/preferences.ts'

type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'info'

interface Entry {
  readonly at: number
  readonly tone: Tone
  readonly icon: IconName
  readonly text: string
  readonly details: readonly string[]
  readonly dead?: DeadLetter
}

/** What happened to a timer, newest first: sets, moves, attempts, hand-overs between instances, and its end. */
export function Timeline({ why: { events, dead } }: { readonly why: Why }): JSX.Element {
  const entries = [...events.map(entryOf), ...dead.map(entryOfDead)].toSorted((a, b) => b.at - a.at)
  if (entries.length === 0)
    return (
      <p class="muted">
        Nothing is recorded. The history keeps failures; the server option history keeps more.
      </p>
    )
  return (
    <ol class="timeline">
      {entries.map((entry, index) => (
        <li key={index} class={entry.tone}>
          <span class={`timeline-mark ${entry.tone}`}>
            <Icon name={entry.icon} />
          </span>
          <div>
            <p>{entry.text}</p>
            {entry.details.map((detail) => (
              <p key={detail} class="muted wrap">
                {detail}
              </p>
            ))}
            {entry.dead?.payload !== undefined && <DeadPayload letter={entry.dead} />}
          </div>
          <When at={entry.at} />
        </li>
      ))}
    </ol>
  )
}

function DeadPayload({ letter }: { readonly letter: DeadLetter }): JSX.Element {
  const isShown = useSignal(false)
  return isShown.value ? (
    <Json value={letter.payload} what="the payload" />
  ) : (
    <Button tone="quiet" icon="eye" onClick={() => (isShown.value = true)}>
      Show its payload
    </Button>
  )
}

function entryOfDead(letter: DeadLetter): Entry {
  return {
    at: letter.diedAt,
    tone: 'bad',
    icon: 'dead',
    text: `Became a dead letter after ${letter.attempts} ${letter.attempts === 1 ? 'attempt' : 'attempts'}`,
    details: [letter.reason],
    dead: letter,
  }
}

function entryOf(event: HistoryEvent): Entry {
  const { at, reason } = event
  const { tone, icon, text } = lookOf(event)
  const details = [
    event.durationMs !== undefined && event.event === 'attempt' && `It took ${duration(event.durationMs)}.`,
    event.latenessMs !== undefined &&
      event.latenessMs >= 1 &&
      `It began ${duration(event.latenessMs)} after it was due.`,
    reason,
    event.nextDueAt !== undefined && `Next: ${instant(event.nextDueAt, shownZone())}`,
  ].filter((detail): detail is string => typeof detail === 'string')
  return { at, tone, icon, text, details }
}

function lookOf(event: HistoryEvent): {
  readonly tone: Tone
  readonly icon: IconName
  readonly text: string
} {
  const due = event.dueAt === undefined ? '' : `, due ${instant(event.dueAt, shownZone())}`
  const attempt = event.attempt === undefined ? 'Attempt' : `Attempt ${event.attempt}`
  switch (event.event) {
    case 'created':
      return { tone: 'info', icon: 'plus', text: `Set${due}` }
    case 'moved':
      return { tone: 'info', icon: 'move', text: `Moved${due}` }
    case 'cancelled':
      return { tone: 'warn', icon: 'stop', text: 'Cancelled' }
    case 'ending':
      return { tone: 'warn', icon: 'stop', text: 'Cancelled while it ran: that attempt was its last one' }
    case 'paused':
      return { tone: 'warn', icon: 'pause', text: 'Paused' }
    case 'resumed':
      return { tone: 'info', icon: 'play', text: 'Resumed' }
    case 'handed-over':
      return {
        tone: 'info',
        icon: 'hand',
        text:
          event.from === undefined
            ? `Taken over by ${event.to}`
            : `Handed over from ${event.from} to ${event.to}`,
      }
    case 'unknown-attempt':
      return { tone: 'warn', icon: 'info', text: `${attempt}: its outcome is not known` }
    case 'attempt':
      return event.outcome === 'done' || event.outcome === 'next'
        ? { tone: 'good', icon: 'done', text: `${attempt} succeeded` }
        : { tone: 'bad', icon: 'retry', text: `${attempt} failed` }
    case 'settled':
      return { tone: 'good', icon: 'done', text: 'Done' }
    case 'dead':
      return { tone: 'bad', icon: 'dead', text: 'Given up' }
    case 'missed':
      return { tone: 'warn', icon: 'clock', text: 'Missed: it was too late to start' }
    default:
      return { tone: 'plain', icon: 'info', text: event.event }
  }
}

export function HistoryBadge({ event }: { readonly event: HistoryEvent }): JSX.Element {
  const { tone, icon, text } = lookOf(event)
  return (
    <Badge tone={tone} icon={icon}>
      {text.replace(/, due .*$/, '')}
    </Badge>
  )
}
