import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { Count, Timer } from '../../api/types.ts'
import { useResource } from '../../state/resource.ts'
import { href, route, setQuery, timerHref } from '../../state/router.ts'
import { can } from '../../state/session.ts'
import { Badge, Button, Empty, Failure, Heading, Notice, When } from '../../ui/basics.tsx'
import { count } from '../../ui/format.ts'
import { Icon } from '../../ui/icon.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { BulkBar } from './bulk.tsx'
import { conditionsOf, type Filter, filterOf, isFiltered } from './filter.ts'
import { FilterBar } from './filter-bar.tsx'
import { StateBadge } from './state-badge.tsx'
import { useTimerPages } from './timer-pages.ts'

/** The timers that match a filter, page by page, with changes to many at once. */
export function TimersView(): JSX.Element {
  const filter = filterOf(route.value.query)
  const conditions = conditionsOf(filter)
  const pages = useTimerPages(conditions)
  const selected = useSignal<ReadonlySet<string>>(new Set())
  const isAll = useSignal(false)
  const clear = (): void => {
    selected.value = new Set()
    isAll.value = false
  }
  const chosen = pages.items.filter((timer) => selected.value.has(timer.handle))
  const isEmpty = pages.items.length === 0 && !pages.isLoading && pages.error === undefined
  return (
    <>
      <Heading title="Timers" note={<Total filter={filter} conditions={conditions} />}>
        {can('write') && (
          <a class="button main" href={href(['set'], { kind: filter.kind })}>
            <Icon name="plus" />
            Set a timer
          </a>
        )}
      </Heading>
      <FilterBar
        filter={filter}
        change={(change) => {
          clear()
          setQuery(change)
        }}
      />
      {can('write') && (chosen.length > 0 || isAll.value) && (
        <BulkBar selected={chosen} filter={filter} isAll={isAll.value} clear={clear} />
      )}
      {chosen.length > 0 &&
        chosen.length === pages.items.length &&
        !isAll.value &&
        isFiltered(filter) &&
        (pages.hasNext || pages.hasPrevious) && (
          <Notice
            actions={<Button onClick={() => (isAll.value = true)}>Select everything that matches</Button>}
          >
            All {count(chosen.length)} timers on this page are selected.
          </Notice>
        )}
      {pages.error !== undefined && <Failure error={pages.error} what="timers" retry={pages.reload} />}
      <div class={pages.isLoading && pages.items.length === 0 ? 'skeleton' : ''} aria-busy={pages.isLoading}>
        {pages.items.length > 0 && (
          <Table
            label="Timers"
            columns={columnsOf(selected.value, pages.items, (next) => {
              isAll.value = false
              selected.value = next
            })}
            rows={pages.items}
            keyOf={({ handle }) => handle}
          />
        )}
      </div>
      {pages.isCut && (
        <Notice tone="warn" actions={<Button onClick={pages.goOn}>Search on</Button>}>
          <strong>The search took too long and was stopped.</strong> {count(pages.items.length)} found so far.
          A kind, or a key from its beginning, makes it faster.
        </Notice>
      )}
      {isEmpty && !pages.isCut && (
        <Empty title={isFiltered(filter) ? 'No timer matches.' : 'No timer is set.'}>
          {isFiltered(filter) ? (
            <Button onClick={() => (location.hash = href(['timers']))}>Remove the filter</Button>
          ) : (
            <a href={href(['start'])}>First steps</a>
          )}
        </Empty>
      )}
      {(pages.hasNext || pages.hasPrevious) && (
        <nav class="pager" aria-label="Pages">
          <Button disabled={!pages.hasPrevious} onClick={() => (clear(), pages.previous())}>
            Previous
          </Button>
          <span>Page {count(pages.number)}</span>
          <Button disabled={!pages.hasNext} onClick={() => (clear(), pages.next())}>
            Next
          </Button>
        </nav>
      )}
    </>
  )
}

function Total({
  filter,
  conditions,
}: {
  readonly filter: Filter
  readonly conditions: Readonly<Record<string, string | number | boolean>>
}): JSX.Element {
  const counted = useResource(
    `total ${JSON.stringify(conditions)}`,
    (api, signal) => api.get<Count>('/v1/timers/count', { ...conditions, atMost: 10_000 }, signal),
    { live: true },
  )
  const { data } = counted
  if (data === undefined)
    return <>{counted.isMissing || counted.error !== undefined ? 'Page by page.' : 'Counting…'}</>
  return (
    <>
      {data.complete ? '' : 'At least '}
      {count(data.count)}{' '}
      {isFiltered(filter) ? (data.count === 1 ? 'matches.' : 'match.') : 'in this namespace.'}
    </>
  )
}

function columnsOf(
  selected: ReadonlySet<string>,
  items: readonly Timer[],
  select: (selected: ReadonlySet<string>) => void,
): readonly Column<Timer>[] {
  const isWhole = items.length > 0 && items.every(({ handle }) => selected.has(handle))
  const toggle = (handle: string): void => {
    const next = new Set(selected)
    if (!next.delete(handle)) next.add(handle)
    select(next)
  }
  const selection: Column<Timer> = {
    title: (
      <input
        type="checkbox"
        aria-label="Select all timers on this page"
        checked={isWhole}
        onChange={() => select(isWhole ? new Set() : new Set(items.map(({ handle }) => handle)))}
      />
    ),
    label: 'Select',
    class: 'select',
    cell: ({ handle, key }) => (
      <input
        type="checkbox"
        aria-label={`Select ${key}`}
        checked={selected.has(handle)}
        onChange={() => toggle(handle)}
      />
    ),
  }
  return can('write') ? [selection, ...columns] : columns
}

const columns: readonly Column<Timer>[] = [
  { title: 'State', label: 'State', cell: (timer) => <StateBadge timer={timer} /> },
  {
    title: 'Kind',
    label: 'Kind',
    cell: ({ kind }) => (
      <a class="quiet-link name" href={href(['timers'], { kind })}>
        {kind}
      </a>
    ),
  },
  {
    title: 'Key',
    label: 'Key',
    class: 'wide',
    cell: ({ kind, key }) => (
      <a class="name" href={timerHref(kind, key)}>
        {key}
      </a>
    ),
  },
  { title: 'Due', label: 'Due', cell: ({ dueAt }) => <When at={dueAt} /> },
  {
    title: 'Attempts',
    label: 'Attempts',
    isNumber: true,
    cell: ({ attempts }) => <span class={attempts === 0 ? 'muted' : ''}>{count(attempts)}</span>,
  },
  {
    title: 'Recurs',
    label: 'Recurs',
    cell: ({ on }) =>
      on === undefined ? <span class="muted">once</span> : <Badge icon="schedules">{on.type}</Badge>,
  },
  { title: 'Tags', label: 'Tags', cell: ({ tags }) => <Tags tags={tags} /> },
]

export function Tags({ tags }: { readonly tags: readonly string[] }): JSX.Element {
  if (tags.length === 0) return <span class="muted">–</span>
  return (
    <span class="tags">
      {tags.map((tag) => (
        <a key={tag} class="tag" href={href(['timers'], { tag })}>
          {tag}
        </a>
      ))}
    </span>
  )
}
