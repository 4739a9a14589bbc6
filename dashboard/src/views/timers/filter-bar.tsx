import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { later } from '../../state/clock.ts'
import { useResource } from '../../state/resource.ts'
import { Button } from '../../ui/basics.tsx'
import { type InputOptions, Select, TextField } from '../../ui/form.tsx'
import { localText } from '../../ui/when-field.tsx'
import { emptyFilter, type Filter, isFiltered } from './filter.ts'

/** Typing searches by itself, after a short rest. */
const REST_MS = 250

/** The filter of the list. Every change is in the URL at once. */
export function FilterBar({
  filter,
  change,
}: {
  readonly filter: Filter
  readonly change: (change: Partial<Filter>) => void
}): JSX.Element {
  const kinds = useResource('kind names', (api, signal) =>
    api.get<{ kinds: readonly string[] }>('/v1/kinds', {}, signal),
  )
  const hasMore =
    filter.tag !== '' ||
    filter.attempts !== '' ||
    filter.from !== '' ||
    filter.until !== '' ||
    filter.recurring !== ''
  const isOpen = useSignal(hasMore)
  return (
    <form
      class="filters"
      role="search"
      aria-label="Filter timers"
      onSubmit={(event) => event.preventDefault()}
    >
      <div class="filter-row">
        <Select
          label="Kind"
          value={filter.kind}
          options={[
            ['', 'All kinds'],
            ...[...new Set([...(kinds.data?.kinds ?? []), ...(filter.kind === '' ? [] : [filter.kind])])].map(
              (kind) => [kind, kind] as const,
            ),
          ]}
          choose={(kind) => change({ kind })}
        />
        <Select
          label="Key"
          value={filter.match}
          options={[
            ['part', 'contains'],
            ['prefix', 'begins with'],
          ]}
          choose={(match) => change({ match })}
        />
        <Typed
          label="Key text"
          value={filter.key}
          change={(key) => change({ key })}
          type="search"
          maxLength={512}
        />
        <Select
          label="State"
          value={filter.state}
          options={[
            ['', 'Any state'],
            ['waiting', 'waiting'],
            ['firing', 'firing'],
            ['retrying', 'retrying'],
            ['paused', 'paused'],
          ]}
          choose={(state) => change({ state })}
        />
        <Select
          label="Due"
          value={filter.due}
          options={[
            ['', 'Any time'],
            ['overdue', 'overdue'],
            ['10min', 'in 10 minutes'],
            ['1h', 'in an hour'],
            ['1d', 'in a day'],
            ['7d', 'in a week'],
          ]}
          choose={(due) => change({ due, from: '', until: '' })}
        />
        <Button tone="quiet" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
          {isOpen.value ? 'Fewer filters' : 'More filters'}
        </Button>
        {isFiltered(filter) && (
          <Button tone="quiet" onClick={() => change(emptyFilter)}>
            Remove all
          </Button>
        )}
      </div>
      {isOpen.value && (
        <div class="filter-row">
          <Typed label="Tag" value={filter.tag} change={(tag) => change({ tag })} maxLength={128} />
          <Typed
            label="Attempts, at least"
            value={filter.attempts}
            change={(attempts) => change({ attempts: attempts.replace(/\D/g, '') })}
            inputMode="numeric"
            maxLength={6}
          />
          <Select
            label="Recurs"
            value={filter.recurring}
            options={[
              ['', 'either'],
              ['yes', 'on a schedule'],
              ['no', 'once'],
            ]}
            choose={(recurring) => change({ recurring })}
          />
          <TextField
            label="Due from"
            type="datetime-local"
            value={localOf(filter.from)}
            input={(from) => change({ from, due: '' })}
          />
          <TextField
            label="Due before"
            type="datetime-local"
            value={localOf(filter.until)}
            input={(until) => change({ until, due: '' })}
          />
        </div>
      )}
    </form>
  )
}

/** Links have epoch milliseconds, a date field has a local time. */
function localOf(text: string): string {
  return /^\d+$/.test(text) ? localText(Number(text)).slice(0, 16) : text
}

/** A text field that reports what was typed after a rest, or at once with Enter. */
function Typed({
  value,
  change,
  ...rest
}: {
  readonly label: string
  readonly value: string
  readonly change: (value: string) => void
} & InputOptions): JSX.Element {
  const typed = useSignal(value)
  useEffect(() => {
    typed.value = value
  }, [value])
  useEffect(() => {
    if (typed.value === value) return
    return later(REST_MS, () => change(typed.value))
  }, [typed.value])
  return <TextField {...rest} value={typed.value} input={(text) => (typed.value = text)} />
}
