import type { JSX } from 'preact'
import type { Cause, Overview } from '../../api/types.ts'
import type { Resource } from '../../state/resource.ts'
import { href } from '../../state/router.ts'
import { now } from '../../state/clock.ts'
import { Card, Notice, type Tone } from '../../ui/basics.tsx'
import { duration, plural } from '../../ui/format.ts'

/** One sentence about what is wrong, with what to do about it. */
interface Finding {
  readonly tone: Tone
  readonly text: string
  readonly remedy: string
  readonly link?: readonly [text: string, href: string]
}

/** The health of the namespace in sentences. Green only if nothing needs anybody. */
export function Health({
  overview,
  causes,
}: {
  readonly overview: Resource<Overview>
  readonly causes: Resource<{ causes: readonly Cause[] }>
}): JSX.Element | null {
  const findings = [
    ...(overview.data === undefined ? [] : findingsOf(overview.data, now.value)),
    ...causesOf(causes.data, overview.data),
  ]
  if (findings.length === 0 && (overview.data === undefined || causes.data === undefined)) return null
  if (findings.length === 0)
    return (
      <Notice tone="good">
        <p>
          <strong>All is well.</strong> Due timers fire, every kind has somebody who handles it, and nothing
          was given up.
        </p>
      </Notice>
    )
  return (
    <Card title="What needs you" class="health">
      <ul class="findings">
        {findings.map(({ tone, text, remedy, link }) => (
          <li key={text}>
            <Notice tone={tone} actions={link && <a href={link[1]}>{link[0]}</a>}>
              <p>
                <strong>{text}</strong>
              </p>
              <p>{remedy}</p>
            </Notice>
          </li>
        ))}
      </ul>
    </Card>
  )
}

/** What the server found, without what the counts of a kind already say. */
function causesOf(
  data: { causes: readonly Cause[] } | undefined,
  overview: Overview | undefined,
): readonly Finding[] {
  const isSaid = (text: string): boolean =>
    (overview?.kinds ?? []).some(({ kind, overdue }) => overdue > 0 && text.includes(JSON.stringify(kind)))
  return (data?.causes ?? [])
    .filter(({ text }) => !isSaid(text))
    .map(({ text, remedy }) => ({
      tone: 'bad',
      text: sentence(text),
      remedy: sentence(remedy),
    }))
}

function findingsOf(overview: Overview, at: number): readonly Finding[] {
  const { kinds, totals, isAllPaused, allPause } = overview
  const findings: Finding[] = []
  if (isAllPaused)
    findings.push({
      tone: 'warn',
      text: `The whole namespace is paused${pauseWords(allPause, at)}.`,
      remedy: 'Timers that fall due wait. Resume it when you are ready.',
      link: ['Kinds and targets', href(['kinds'])],
    })
  for (const kind of kinds) {
    const link = (text: string): readonly [string, string] => [
      text,
      href(['timers'], { kind: kind.kind, due: 'overdue' }),
    ]
    if (kind.pause !== undefined) {
      findings.push({
        tone: 'warn',
        text: `Kind ${kind.kind} is paused${pauseWords(kind.pause, at)}.`,
        remedy:
          kind.overdue === 0
            ? 'Its timers wait when they fall due.'
            : `${plural(kind.overdue, 'timer')} of it wait.`,
        link: ['Kinds and targets', href(['kinds'])],
      })
    } else if (kind.overdue > 0) {
      const late = kind.oldestDueAt === undefined ? '' : `, by up to ${duration(at - kind.oldestDueAt)}`
      findings.push({
        tone: 'bad',
        text: `${kind.isOverdueExact ? '' : 'At least '}${plural(kind.overdue, 'timer')} of kind ${kind.kind} ${kind.overdue === 1 ? 'is' : 'are'} overdue${late}.`,
        remedy: remedyOf(kind.handledBy.length, kind.breaker, kind.kind),
        link: link('Show them'),
      })
    } else if (kind.handledBy.length === 0 && kind.pending > 0) {
      findings.push({
        tone: 'warn',
        text: `No instance handles kind ${kind.kind}.`,
        remedy: `${plural(kind.pending, 'timer')} of it will wait when they fall due. Give it a target, or start a program that handles it.`,
        link: ['Give it a target', href(['kinds'], { edit: kind.kind })],
      })
    }
    if (kind.breaker !== undefined && kind.overdue === 0)
      findings.push({
        tone: 'warn',
        text: `The target of kind ${kind.kind} ${breakerWords[kind.breaker]}.`,
        remedy: 'Look at its last answers.',
        link: ['Kinds and targets', href(['kinds'])],
      })
  }
  if (totals.dead > 0)
    findings.push({
      tone: 'warn',
      text: `${plural(totals.dead, 'dead letter')} ${totals.dead === 1 ? 'waits' : 'wait'} for a decision.`,
      remedy: 'Find the reason, mend it, then redrive or discard them.',
      link: ['Dead letters', href(['dead'])],
    })
  return findings.slice(0, 20)
}

const breakerWords = {
  open: 'fails, so attempts are held back',
  gone: 'answered 410 Gone, so it is paused',
  refused: 'is refused by the rules of this server',
} as const

function remedyOf(handlers: number, breaker: 'open' | 'gone' | 'refused' | undefined, kind: string): string {
  if (breaker !== undefined) return `The target ${breakerWords[breaker]}. Look at its last answers.`
  if (handlers === 0)
    return `No instance handles ${kind}: give it a target, or start a program that handles it.`
  return 'Its handlers do not keep up: raise the concurrency of the kind, or add instances.'
}

function pauseWords(pause: Overview['allPause'], at: number): string {
  if (pause === undefined) return ''
  const { by, since, note } = pause
  return `${by === undefined ? '' : ` by ${by}`}${since === undefined ? '' : ` for ${duration(at - since)}`}${note === undefined ? '' : `: “${note}”`}`
}

/** The texts of the API begin with a small letter, because they follow other words in a terminal. */
function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(first) ? first : `${first}.`
}
