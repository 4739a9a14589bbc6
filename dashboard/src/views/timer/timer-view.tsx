import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { codeOf, timerPath } from '../../api/calls.ts'
import type { Preview, ScheduleJson, Timer, Why } from '../../api/types.ts'
import { now } from '../../state/clock.ts'
import { shownZone } from '../../state/preferences.ts'
import { useResource } from '../../state/resource.ts'
import { href } from '../../state/router.ts'
import { Badge, Button, Card, CopyButton, Empty, Heading, Loaded, Notice, When } from '../../ui/basics.tsx'
import { count, instant, relative } from '../../ui/format.ts'
import { Json } from '../../ui/json.tsx'
import { Calendar } from '../schedules/calendar.tsx'
import { Occurrences } from '../schedules/occurrences.tsx'
import { StateBadge } from '../timers/state-badge.tsx'
import { Tags } from '../timers/timers-view.tsx'
import { Timeline } from './timeline.tsx'
import { TimerActions } from './timer-actions.tsx'
import type { ViewProps } from '../views.tsx'

/** One timer: when it fires and why then, what it carries, and its life so far. */
export function TimerView({ path: [kind = '', key = ''] }: ViewProps): JSX.Element {
  const why = useResource(
    `why ${kind} ${key}`,
    (api, signal) => api.get<Why>(timerPath(kind, key, '/why'), {}, signal),
    { live: true, everyMs: 10_000 },
  )
  const isUnknown = codeOf(why.error) === 'timer-unknown'
  return (
    <>
      <Heading
        title={<span class="name">{key}</span>}
        note={
          <>
            <a class="name" href={href(['timers'], { kind })}>
              {kind}
            </a>{' '}
            <CopyButton text={location.href} what="the link to this timer" />
          </>
        }
      >
        {why.data?.timer !== undefined && <TimerActions timer={why.data.timer} />}
      </Heading>
      {isUnknown ? (
        <Unknown kind={kind} timerKey={key} />
      ) : (
        <Loaded from={why} what="timer">
          {(data) => <Life why={data} kind={kind} timerKey={key} />}
        </Loaded>
      )}
    </>
  )
}

function Life({
  why,
  kind,
  timerKey,
}: {
  readonly why: Why
  readonly kind: string
  readonly timerKey: string
}): JSX.Element {
  const { timer, causes } = why
  return (
    <>
      {causes.map(({ code, text, remedy }) => (
        <Notice key={code} tone="bad">
          <p>
            <strong>It does not fire: {text}.</strong>
          </p>
          <p>{remedy}</p>
        </Notice>
      ))}
      {timer === undefined ? (
        <Unknown kind={kind} timerKey={timerKey} />
      ) : (
        <>
          {timer.fault !== undefined && <Notice tone="bad">It cannot be read: {timer.fault}</Notice>}
          {timer.state === 'paused' && <PauseNote timer={timer} />}
          <div class="columns">
            <Card title="Facts">
              <Facts timer={timer} />
            </Card>
            <Payload key={timer.revision} timer={timer} />
          </div>
          {timer.on !== undefined && <ScheduleCard schedule={timer.on} />}
        </>
      )}
      <Card title="Its life" note="As far as the history keeps it.">
        <Timeline why={why} />
      </Card>
    </>
  )
}

function PauseNote({ timer: { pause } }: { readonly timer: Timer }): JSX.Element {
  const { note, by, since } = pause ?? {}
  return (
    <Notice tone="warn">
      It is paused{by !== undefined && ` by ${by}`}
      {since !== undefined && `, ${relative(since, now.value)}`}
      {note === undefined ? '.' : `: “${note}”`}
    </Notice>
  )
}

function Unknown({ kind, timerKey }: { readonly kind: string; readonly timerKey: string }): JSX.Element {
  return (
    <Empty title="There is no such timer now.">
      <p>It was never set, or it has ended and the store no longer remembers it.</p>
      <a class="button plain" href={href(['set'], { kind, key: timerKey })}>
        Set it
      </a>
    </Empty>
  )
}

function Facts({ timer }: { readonly timer: Timer }): JSX.Element {
  const { state, settled, dueAt, createdAt, attempts, occurrence, tags, handle, revision, on } = timer
  const zone = on?.zone
  return (
    <dl class="facts">
      <dt>State</dt>
      <dd>
        <StateBadge timer={timer} />
        {settled?.reason !== undefined && <span class="reason">{settled.reason}</span>}
      </dd>
      <dt>{settled === undefined ? (attempts > 0 ? 'Next attempt' : 'Due') : 'Ended'}</dt>
      <dd>
        <When at={settled?.at ?? dueAt} both={settled !== undefined} />
        {settled === undefined && (
          <>
            <span class="line">{instant(dueAt, shownZone())}</span>
            {zone !== undefined && zone !== shownZone() && (
              <span class="line muted">
                {instant(dueAt, zone)} in {zone}
              </span>
            )}
          </>
        )}
      </dd>
      <dt>Set</dt>
      <dd>
        <When at={createdAt} />
      </dd>
      <dt>Attempts</dt>
      <dd>
        {count(attempts)}
        {state === 'firing' && <span class="muted"> before this one</span>}
      </dd>
      {on !== undefined && (
        <>
          <dt>Occurrence</dt>
          <dd>{count(occurrence + 1)}</dd>
        </>
      )}
      <dt>Tags</dt>
      <dd>
        <Tags tags={tags} />
      </dd>
      <dt>Handle</dt>
      <dd class="copyable">
        <code>{handle}</code>
        <CopyButton text={handle} what="the handle" />
      </dd>
      <dt>Revision</dt>
      <dd>{count(revision)}</dd>
    </dl>
  )
}

/** Payloads may contain what not everybody at the screen should see, so they are hidden until they are asked for. */
function Payload({ timer }: { readonly timer: Timer }): JSX.Element {
  const isShown = useSignal(false)
  const { payload } = timer
  return (
    <Card
      title="Payload"
      actions={
        payload === undefined ? undefined : (
          <Button icon="eye" aria-expanded={isShown.value} onClick={() => (isShown.value = !isShown.value)}>
            {isShown.value ? 'Hide' : 'Show'}
          </Button>
        )
      }
    >
      {payload === undefined ? (
        <p class="muted">It carries none.</p>
      ) : isShown.value ? (
        <Json value={payload} what="the payload" />
      ) : (
        <p class="muted">Hidden. Show it to see what the handler gets.</p>
      )}
    </Card>
  )
}

function ScheduleCard({ schedule }: { readonly schedule: ScheduleJson }): JSX.Element {
  const preview = useResource(`preview ${JSON.stringify(schedule)}`, (api, signal) =>
    api.send<Preview>('POST', '/v1/schedules/preview', { on: schedule, count: 10 }, { signal }),
  )
  return (
    <Card title="Schedule" actions={<Badge icon="schedules">{schedule.type}</Badge>}>
      <Loaded from={preview} what="next occurrences">
        {({ description, occurrences }) => (
          <>
            <p class="in-words">{description}</p>
            <div class="columns">
              <div>
                <h3>Next ten occurrences</h3>
                <Occurrences occurrences={occurrences} />
              </div>
              <Calendar schedule={schedule} />
            </div>
          </>
        )}
      </Loaded>
    </Card>
  )
}
