import type { JSX } from 'preact'
import { events } from '../../state/feed.ts'
import { Badge, Card, When } from '../../ui/basics.tsx'
import type { IconName } from '../../ui/icon.tsx'

const words: Readonly<Record<string, readonly ['good' | 'warn' | 'bad' | 'info', IconName, string]>> = {
  acquired: ['good', 'done', 'acquired'],
  released: ['info', 'hand', 'released'],
  lost: ['bad', 'failed', 'lost'],
  unowned: ['bad', 'dead', 'has no owner'],
  'clock-off': ['bad', 'clock', 'the clock is off'],
  stalled: ['warn', 'clock', 'due timers wait'],
  'store-trouble': ['bad', 'failed', 'the store failed'],
}

/** Shards that change hands while the page is open. */
export function Takeovers(): JSX.Element {
  const seen = events.value.filter(({ type }) => words[type] !== undefined).slice(0, 20)
  return (
    <Card
      title="What happens now"
      note="Shards that change hands and faults of this instance, since this page was opened."
    >
      {seen.length === 0 ? (
        <p class="muted">Nothing so far.</p>
      ) : (
        <ul class="event-list">
          {seen.map((event) => {
            const [tone, icon, text] = words[event.type]!
            return (
              <li key={event.number}>
                <Badge tone={tone} icon={icon}>
                  {text}
                </Badge>
                <span>
                  {event.shard === undefined ? '' : `shard ${event.shard} `}
                  {event.reason ?? ''}
                </span>
                <When at={event.at ?? event.receivedAt} both={false} />
              </li>
            )
          })}
        </ul>
      )}
    </Card>
  )
}
