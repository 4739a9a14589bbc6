import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import type { NamespaceInfo, Quota } from '../../api/types.ts'
import { useResource } from '../../state/resource.ts'
import { href } from '../../state/router.ts'
import { api, can, spansNamespaces, who } from '../../state/session.ts'
import { Button, Card, Heading, Loaded, When } from '../../ui/basics.tsx'
import { ask } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/form.tsx'
import { bytes, compact, count } from '../../ui/format.ts'
import { type Column, Table } from '../../ui/table.tsx'
import { namespaceInUrl } from '../../state/router.ts'

/** The namespaces, and how much each may hold. */
export function NamespacesView(): JSX.Element {
  const current = namespaceInUrl.value ?? who.value?.namespace ?? 'default'
  const quota = useResource('quota', (calls, abort) => calls.get<Quota>('/v1/quota', {}, abort), {
    everyMs: 30_000,
  })
  const namespaces = useResource(
    'namespaces',
    spansNamespaces.value
      ? (calls, abort) => calls.get<{ namespaces: readonly NamespaceInfo[] }>('/v1/namespaces', {}, abort)
      : undefined,
    { everyMs: 30_000 },
  )
  return (
    <>
      <Heading
        title="Namespaces"
        note="Separate sets of timers in one store. A key may be bound to one of them."
      />
      <Card
        title={`Quota of ${current}`}
        actions={
          can('admin') &&
          spansNamespaces.value && (
            <>
              <Button icon="edit" onClick={() => askQuota(current, quota.data)}>
                Change
              </Button>
              {(quota.data?.maxTimers !== undefined || quota.data?.maxBytes !== undefined) && (
                <Button tone="bad" onClick={() => askRemoveQuota(current)}>
                  Remove
                </Button>
              )}
            </>
          )
        }
      >
        <Loaded from={quota} what="quota">
          {(data) => <Use quota={data} />}
        </Loaded>
      </Card>
      {spansNamespaces.value && (
        <Loaded from={namespaces} what="namespaces">
          {({ namespaces: list }) => (
            <Card title="All namespaces">
              <Table label="Namespaces" columns={columns} rows={list} keyOf={({ namespace }) => namespace} />
            </Card>
          )}
        </Loaded>
      )}
    </>
  )
}

function Use({ quota: { maxTimers, maxBytes, used, countedAt } }: { readonly quota: Quota }): JSX.Element {
  if (maxTimers === undefined && maxBytes === undefined) return <p class="muted">It has no limit.</p>
  return (
    <dl class="facts">
      <dt>Timers</dt>
      <dd>
        <Meter used={used?.timers} most={maxTimers} format={count} what="timers" />
      </dd>
      <dt>Payloads</dt>
      <dd>
        <Meter used={used?.bytes} most={maxBytes} format={bytes} what="bytes" />
      </dd>
      {countedAt !== undefined && (
        <>
          <dt>Counted</dt>
          <dd>
            <When at={countedAt} both={false} />
          </dd>
        </>
      )}
    </dl>
  )
}

function Meter({
  used,
  most,
  format,
  what,
}: {
  readonly used: number | undefined
  readonly most: number | undefined
  readonly format: (value: number) => string
  readonly what: string
}): JSX.Element {
  const text = `${used === undefined ? '–' : format(used)} of ${most === undefined ? 'no limit' : format(most)}`
  if (most === undefined || used === undefined) return <span>{text}</span>
  return (
    <span class="meter">
      <meter min={0} max={Math.max(most, 1)} high={most * 0.9} value={used} aria-label={`Used ${what}`} />{' '}
      {text}
    </span>
  )
}

const columns: readonly Column<NamespaceInfo>[] = [
  {
    title: 'Namespace',
    label: 'Namespace',
    class: 'wide',
    cell: ({ namespace }) => (
      <a class="name" href={href(['overview'], { ns: namespace === 'default' ? undefined : namespace })}>
        {namespace}
      </a>
    ),
  },
  { title: 'Kinds', label: 'Kinds', isNumber: true, cell: ({ kinds }) => count(kinds) },
  { title: 'Pending', label: 'Pending', isNumber: true, cell: ({ pending }) => numberOf(pending) },
  { title: 'Overdue', label: 'Overdue', isNumber: true, cell: ({ overdue }) => numberOf(overdue) },
  { title: 'Dead', label: 'Dead', isNumber: true, cell: ({ dead }) => numberOf(dead) },
  {
    title: 'Limit',
    label: 'Limit',
    cell: ({ quota }) =>
      quota?.maxTimers === undefined ? <span class="muted">none</span> : `${compact(quota.maxTimers)} timers`,
  },
]

function numberOf(value: number | undefined): JSX.Element {
  return value === undefined ? (
    <span class="muted">–</span>
  ) : (
    <span title={count(value)}>{compact(value)}</span>
  )
}

function askQuota(namespace: string, quota: Quota | undefined): void {
  const timers = signal(quota?.maxTimers === undefined ? '' : String(quota.maxTimers))
  const size = signal(quota?.maxBytes === undefined ? '' : String(quota.maxBytes))
  ask({
    title: `Quota of ${namespace}`,
    body: <QuotaFields timers={timers} size={size} />,
    action: 'Save the quota',
    run: async () => {
      await api.value.send('PUT', '/v1/quota', {
        ...(timers.value !== '' && { maxTimers: Number(timers.value) }),
        ...(size.value !== '' && { maxBytes: Number(size.value) }),
      })
      return `Saved the quota of ${namespace}.`
    },
  })
}

function QuotaFields({
  timers,
  size,
}: {
  readonly timers: { value: string }
  readonly size: { value: string }
}): JSX.Element {
  return (
    <>
      <TextField
        label="Timers, at most"
        inputMode="numeric"
        maxLength={15}
        value={timers.value}
        input={(value) => (timers.value = value.replace(/\D/g, ''))}
        hint="Empty for no limit."
      />
      <TextField
        label="Bytes of payload, at most"
        inputMode="numeric"
        maxLength={15}
        value={size.value}
        input={(value) => (size.value = value.replace(/\D/g, ''))}
        hint="Empty for no limit."
      />
    </>
  )
}

function askRemoveQuota(namespace: string): void {
  ask({
    title: `Remove the quota of ${namespace}?`,
    body: <p>The namespace may then hold as much as the store takes.</p>,
    action: 'Remove the quota',
    isDangerous: true,
    run: async () => {
      await api.value.send('DELETE', '/v1/quota')
      return `Removed the quota of ${namespace}.`
    },
  })
}
