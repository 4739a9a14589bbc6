import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import type { Overview, Pause, Target } from '../../api/types.ts'
import { now } from '../../state/clock.ts'
import { act } from '../../state/messages.ts'
import { useResource } from '../../state/resource.ts'
import { href, route, setQuery } from '../../state/router.ts'
import { api, can } from '../../state/session.ts'
import { Badge, Button, Card, Empty, Heading, Loaded, Notice } from '../../ui/basics.tsx'
import { ask } from '../../ui/dialog.tsx'
import { relative } from '../../ui/format.ts'
import { type Column, Table } from '../../ui/table.tsx'
import { NoteField, noteBody } from '../timer/timer-actions.tsx'
import { TargetHealth } from './target-health.tsx'
import { TargetForm } from './target-form.tsx'
import { askRemoveTarget, askRotate, askTest } from './target-actions.tsx'

interface Pauses {
  readonly all: boolean
  readonly kinds: readonly string[]
  readonly allPause?: Pause
  readonly ofKinds?: readonly ({ readonly kind: string } & Pause)[]
}

interface Row {
  readonly kind: string
  readonly target: Target | undefined
  readonly isPaused: boolean
  readonly pause: Pause | undefined
  readonly handledBy: readonly string[]
}

/** Where the timers of each kind go, and which kinds are paused. */
export function KindsView(): JSX.Element {
  const kinds = useResource(
    'kind names',
    (current, abort) => current.get<{ kinds: readonly string[] }>('/v1/kinds', {}, abort),
    { live: true },
  )
  const targets = useResource(
    'targets',
    (current, abort) => current.get<{ targets: readonly Target[] }>('/v1/targets', {}, abort),
    { live: true, everyMs: 10_000 },
  )
  const pauses = useResource('pauses', (current, abort) => current.get<Pauses>('/v1/pauses', {}, abort), {
    live: true,
    everyMs: 10_000,
  })
  const overview = useResource(
    'overview',
    (current, abort) => current.get<Overview>('/v1/overview', {}, abort),
    { everyMs: 10_000 },
  )
  const edited = route.value.query.get('edit')
  const rows = rowsOf(kinds.data?.kinds ?? [], targets.data?.targets ?? [], pauses.data, overview.data)
  return (
    <>
      <Heading
        title="Kinds and targets"
        note="A kind without a handler or a target keeps its timers waiting; none is lost."
      >
        {can('write') && pauses.data !== undefined && <PauseAll pauses={pauses.data} />}
        {can('admin') && (
          <Button tone="main" icon="plus" onClick={() => setQuery({ edit: ' ' })}>
            New target
          </Button>
        )}
      </Heading>
      {pauses.data?.all === true && (
        <Notice tone="warn">
          The whole namespace is paused{pauseText(pauses.data.allPause)} Nothing fires until it is resumed.
        </Notice>
      )}
      {edited !== null && can('admin') && (
        <TargetForm
          key={edited}
          kind={edited.trim()}
          before={targets.data?.targets.find(({ kind }) => kind === edited)}
          close={() => setQuery({ edit: '' })}
        />
      )}
      <Loaded from={targets} what="targets">
        {() =>
          rows.length === 0 ? (
            <Empty title="There is no kind yet.">
              A kind comes to be when a timer of it is set, or when it gets a target.
            </Empty>
          ) : (
            <Card>
              <Table label="Kinds" columns={columns} rows={rows} keyOf={({ kind }) => kind} />
            </Card>
          )
        }
      </Loaded>
    </>
  )
}

function rowsOf(
  kinds: readonly string[],
  targets: readonly Target[],
  pauses: Pauses | undefined,
  overview: Overview | undefined,
): readonly Row[] {
  const names = new Set([...kinds, ...targets.map(({ kind }) => kind), ...(pauses?.kinds ?? [])])
  return [...names].toSorted().map((kind) => ({
    kind,
    target: targets.find((target) => target.kind === kind),
    isPaused: pauses?.kinds.includes(kind) === true,
    pause: pauses?.ofKinds?.find((pause) => pause.kind === kind),
    handledBy: overview?.kinds.find((each) => each.kind === kind)?.handledBy ?? [],
  }))
}

const columns: readonly Column<Row>[] = [
  {
    title: 'Kind',
    label: 'Kind',
    class: 'wide',
    cell: ({ kind }) => (
      <a class="name" href={href(['timers'], { kind })}>
        {kind}
      </a>
    ),
  },
  {
    title: 'Goes to',
    label: 'Goes to',
    class: 'wide',
    cell: ({ target, handledBy }) => {
      if (target !== undefined)
        return (
          <span class="two-lines">
            <span>
              <Badge icon="link">{target.type}</Badge>
            </span>
            {target.url !== undefined && <span class="muted name">{target.url}</span>}
          </span>
        )
      if (handledBy.length > 0)
        return (
          <Badge tone="good" icon="done">
            handler in {handledBy.length === 1 ? 'one instance' : `${handledBy.length} instances`}
          </Badge>
        )
      return (
        <Badge tone="warn" icon="dead">
          nowhere: its timers wait
        </Badge>
      )
    },
  },
  {
    title: 'Health',
    label: 'Health',
    class: 'wide',
    cell: ({ target }) => <TargetHealth health={target?.health} />,
  },
  {
    title: 'Paused',
    label: 'Paused',
    cell: ({ isPaused, pause }) =>
      isPaused ? (
        <span class="two-lines">
          <span>
            <Badge tone="warn" icon="pause">
              paused
            </Badge>
          </span>
          <span class="muted wrap">{pauseText(pause).replace(/^ /, '')}</span>
        </span>
      ) : (
        <span class="muted">no</span>
      ),
  },
  { title: 'Actions', label: 'Actions', cell: (row) => <Actions row={row} /> },
]

function Actions({ row: { kind, target, isPaused } }: { readonly row: Row }): JSX.Element {
  if (!can('write')) return <span class="muted">–</span>
  return (
    <span class="row-actions">
      {isPaused ? (
        <Button
          tone="quiet"
          aria-label={`Resume ${kind}`}
          onClick={() => void act(`Resumed ${kind}.`, () => api.value.send('POST', '/v1/resume', { kind }))}
        >
          Resume
        </Button>
      ) : (
        <Button tone="quiet" aria-label={`Pause ${kind}`} onClick={() => askPauseKind(kind)}>
          Pause
        </Button>
      )}
      {can('admin') && (
        <>
          <Button
            tone="quiet"
            aria-label={`${target === undefined ? 'Give a target to' : 'Edit the target of'} ${kind}`}
            onClick={() => setQuery({ edit: kind })}
          >
            {target === undefined ? 'Give a target' : 'Edit'}
          </Button>
          {target?.type === 'webhook' && target.health !== undefined && (
            <>
              <Button tone="quiet" aria-label={`Test the target of ${kind}`} onClick={() => askTest(kind)}>
                Test
              </Button>
              <Button
                tone="quiet"
                aria-label={`Rotate the secret of ${kind}`}
                onClick={() => askRotate(kind)}
              >
                Rotate
              </Button>
            </>
          )}
          {target !== undefined && (
            <Button
              tone="quiet"
              aria-label={`Remove the target of ${kind}`}
              onClick={() => askRemoveTarget(kind)}
            >
              Remove
            </Button>
          )}
        </>
      )}
    </span>
  )
}

function PauseAll({ pauses: { all } }: { readonly pauses: Pauses }): JSX.Element {
  return all ? (
    <Button
      icon="play"
      onClick={() => void act('Resumed the namespace.', () => api.value.send('POST', '/v1/resume', {}))}
    >
      Resume everything
    </Button>
  ) : (
    <Button icon="pause" onClick={() => askPauseKind(undefined)}>
      Pause everything
    </Button>
  )
}

function askPauseKind(kind: string | undefined): void {
  const note = signal('')
  const what = kind === undefined ? 'everything in this namespace' : `kind ${kind}`
  ask({
    title: `Pause ${what}?`,
    body: (
      <>
        <p>
          Timers that fall due wait until somebody resumes {kind === undefined ? 'the namespace' : 'the kind'}
          . Attempts that run go on.
        </p>
        <NoteField note={note} />
      </>
    ),
    action: 'Pause',
    isDangerous: kind === undefined,
    run: async () => {
      await api.value.send('POST', '/v1/pause', {
        ...(kind !== undefined && { kind }),
        ...noteBody(note.value),
      })
      return `Paused ${what}.`
    },
  })
}

function pauseText(pause: Pause | undefined): string {
  const { by, since, note } = pause ?? {}
  return `${by === undefined ? '' : ` by ${by}`}${since === undefined ? '' : `, ${relative(since, now.value)}`}${note === undefined ? '.' : `: “${note}”`}`
}
