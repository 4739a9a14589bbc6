import type { JSX } from 'preact'
import type { Timer } from '../../api/types.ts'
import { Badge } from '../../ui/basics.tsx'
import { now } from '../../state/clock.ts'

/** A timer that is due for longer than this does not fire as it should. */
const OVERDUE_MS = 5000

type Stated = Pick<Timer, 'state' | 'settled' | 'dueAt' | 'attempts' | 'fault'>

/** A timer's state in a word, with its own shape. */
export function StateBadge({ timer }: { readonly timer: Stated }): JSX.Element {
  const { state, settled, dueAt, attempts, fault } = timer
  if (fault !== undefined)
    return (
      <Badge tone="bad" icon="failed" title={fault}>
        unreadable
      </Badge>
    )
  switch (state) {
    case 'settled':
      return settled?.outcome === 'dead' ? (
        <Badge tone="bad" icon="dead">
          dead
        </Badge>
      ) : (
        <Badge tone="good" icon="done">
          {settled?.outcome ?? 'done'}
        </Badge>
      )
    case 'firing':
      return (
        <Badge tone="info" icon="play">
          firing
        </Badge>
      )
    case 'paused':
      return (
        <Badge tone="warn" icon="pause">
          paused
        </Badge>
      )
    case 'waiting':
      if (dueAt < now.value - OVERDUE_MS)
        return (
          <Badge tone="bad" icon="clock">
            overdue
          </Badge>
        )
      return attempts > 0 ? (
        <Badge tone="warn" icon="retry">
          retrying
        </Badge>
      ) : (
        <Badge icon="clock">waiting</Badge>
      )
  }
}
