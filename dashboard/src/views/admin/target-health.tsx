import type { JSX } from 'preact'
import type { Target } from '../../api/types.ts'
import { Badge, Folded, type Tone, When } from '../../ui/basics.tsx'
import { duration } from '../../ui/format.ts'
import type { IconName } from '../../ui/icon.tsx'

const looks: Readonly<Record<string, readonly [Tone, IconName, string]>> = {
  works: ['good', 'done', 'works'],
  open: ['bad', 'failed', 'fails: attempts are held back'],
  trying: ['warn', 'retry', 'is tried again'],
  gone: ['bad', 'dead', 'answered 410: paused'],
  refused: ['bad', 'stop', 'refused by the rules of this server'],
}

/** How a target has answered lately. */
export function TargetHealth({ health }: { readonly health: Target['health'] }): JSX.Element {
  if (health === undefined) return <span class="muted">–</span>
  const [tone, icon, text] = looks[health.state] ?? ['plain', 'info', health.state]
  return (
    <span class="two-lines">
      <span>
        <Badge tone={tone} icon={icon}>
          {text}
        </Badge>
      </span>
      {health.lastAnswers.length > 0 && (
        <Folded summary="Last answers">
          <ul class="answers">
            {health.lastAnswers.map(({ at, status, ms, error }) => (
              <li key={at}>
                <strong>{status ?? 'no answer'}</strong> {ms !== undefined && duration(ms)}{' '}
                <span class="wrap">{error}</span> <When at={at} both={false} />
              </li>
            ))}
          </ul>
        </Folded>
      )}
    </span>
  )
}
