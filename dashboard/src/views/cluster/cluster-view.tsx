import type { JSX } from 'preact'
import { clusterOf } from '../../api/composed.ts'
import type { Cluster, Member, Shard } from '../../api/types.ts'
import { now } from '../../state/clock.ts'
import { useResource } from '../../state/resource.ts'
import { api, can, spansNamespaces, who } from '../../state/session.ts'
import { Badge, Button, Card, Empty, Heading, Loaded, Notice, type Tone, When } from '../../ui/basics.tsx'
import { ask } from '../../ui/dialog.tsx'
import { bytes, compact, count, duration, plural } from '../../ui/format.ts'
import type { IconName } from '../../ui/icon.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { LeasesCard } from './leases-card.tsx'
import { MaintenanceCard } from './maintenance-card.tsx'
import { Takeovers } from './takeovers.tsx'

/** The instances, the shards that they own, the workers, and the store behind them. */
export function ClusterView(): JSX.Element {
  const cluster = useResource(
    'cluster',
    spansNamespaces.value ? (current, signal) => clusterOf(current, who.value!.server, signal) : undefined,
    { everyMs: 3000, live: true },
  )
  return (
    <>
      <Heading
        title="Cluster"
        note={
          cluster.data === undefined
            ? undefined
            : `Store: ${cluster.data.store}, strategy: ${cluster.data.strategy}, ${plural(cluster.data.shards.length, 'shard')}.`
        }
      />
      {spansNamespaces.value ? (
        <Loaded from={cluster} what="cluster">
          {(data) => (
            <>
              <Unowned cluster={data} />
              <Card title={plural(data.members.length, 'instance')}>
                <Table
                  label="Instances"
                  columns={memberColumns(data)}
                  rows={data.members}
                  keyOf={({ id }) => id}
                />
              </Card>
              {data.shards.length > 0 && (
                <Card
                  title={plural(data.shards.length, 'shard')}
                  note="Each shard has one owner, which fires its timers."
                >
                  <Table
                    label="Shards"
                    columns={shardColumns(data)}
                    rows={data.shards}
                    keyOf={({ shard }) => String(shard)}
                  />
                </Card>
              )}
            </>
          )}
        </Loaded>
      ) : (
        <Empty title="This key is for one namespace.">Instances and shards belong to all namespaces.</Empty>
      )}
      <LeasesCard />
      {spansNamespaces.value && (
        <>
          <Takeovers />
          <MaintenanceCard />
        </>
      )}
    </>
  )
}

function Unowned({ cluster }: { readonly cluster: Cluster }): JSX.Element | null {
  const free = cluster.shards.filter(({ isOwned }) => !isOwned).map(({ shard }) => shard)
  if (free.length === 0) return null
  return (
    <Notice tone="bad">
      <p>
        <strong>
          {free.length === 1 ? 'Shard' : 'Shards'} {free.join(', ')} {free.length === 1 ? 'has' : 'have'} no
          owner: due timers there do not fire.
        </strong>
      </p>
      <p>
        An instance takes a free shard within a few seconds. If that does not happen, look at the faults of
        the instances.
      </p>
    </Notice>
  )
}

const memberLooks: Readonly<Record<Member['state'], readonly [Tone, IconName, string]>> = {
  ready: ['good', 'done', 'ready'],
  'not-ready': ['bad', 'failed', 'not ready'],
  draining: ['warn', 'stop', 'draining'],
  unreached: ['warn', 'info', 'not reached'],
}

/** A clock that is off by more than this is worth a look; the engine stops at half a second. */
const OFFSET_MS = 100

function memberColumns({ self }: Cluster): readonly Column<Member>[] {
  return [
    {
      title: 'Instance',
      label: 'Instance',
      class: 'wide',
      cell: ({ id, host, address }) => (
        <span class="two-lines">
          <span class="name">
            {id}
            {id === self && <Badge>this one</Badge>}
          </span>
          <span class="muted name">{[host, address].filter((text) => text !== undefined).join(' · ')}</span>
        </span>
      ),
    },
    {
      title: 'State',
      label: 'State',
      cell: ({ state, faults }) => {
        const [tone, icon, text] = memberLooks[state]
        return (
          <span class="two-lines">
            <Badge tone={tone} icon={icon}>
              {text}
            </Badge>
            {faults.map((fault) => (
              <span key={fault} class="reason">
                {fault}
              </span>
            ))}
          </span>
        )
      },
    },
    { title: 'Version', label: 'Version', cell: ({ version }) => version ?? '–' },
    { title: 'Up since', label: 'Up since', cell: ({ upSince }) => <When at={upSince} both={false} /> },
    {
      title: 'Clock',
      label: 'Clock',
      isNumber: true,
      cell: ({ clockOffsetMs }) =>
        clockOffsetMs === undefined ? (
          '–'
        ) : (
          <span class={Math.abs(clockOffsetMs) > OFFSET_MS ? 'bad-text' : ''}>
            {clockOffsetMs < 0 ? '−' : '+'}
            {duration(clockOffsetMs)}
          </span>
        ),
    },
    {
      title: 'Memory',
      label: 'Memory',
      isNumber: true,
      cell: ({ memoryBytes }) => (memoryBytes === undefined ? '–' : bytes(memoryBytes)),
    },
    {
      title: 'Shards',
      label: 'Shards',
      isNumber: true,
      cell: ({ shards }) => <span title={shards.join(', ')}>{count(shards.length)}</span>,
    },
    {
      title: 'In memory',
      label: 'In memory',
      isNumber: true,
      cell: ({ inMemory }) => (inMemory === undefined ? '–' : compact(inMemory)),
    },
    {
      title: 'Running',
      label: 'Running',
      isNumber: true,
      cell: ({ inFlight }) => (inFlight === undefined ? '–' : compact(inFlight)),
    },
    {
      title: 'Actions',
      label: 'Actions',
      cell: (member) =>
        can('admin') && member.version !== undefined ? (
          <Drain member={member} />
        ) : (
          <span class="muted">–</span>
        ),
    },
  ]
}

function Drain({ member: { id, state } }: { readonly member: Member }): JSX.Element {
  const isDraining = state === 'draining'
  const word = isDraining ? 'Resume' : 'Drain'
  return (
    <Button
      tone="quiet"
      aria-label={`${word} ${id}`}
      onClick={() =>
        ask({
          title: `${word} ${id}?`,
          body: isDraining ? (
            <p>It acquires shards again and fires their timers.</p>
          ) : (
            <p>
              It releases its shards to the other instances and starts no more timers. It still answers
              requests. Timers wait if no other instance runs.
            </p>
          ),
          action: word,
          isDangerous: !isDraining,
          run: async () => {
            await api.value.send(
              'POST',
              `/v1/members/${encodeURIComponent(id)}/${isDraining ? 'resume' : 'drain'}`,
            )
            return isDraining ? `${id} is ready again.` : `${id} drains.`
          },
        })
      }
    >
      {word}
    </Button>
  )
}

function shardColumns({ at }: Cluster): readonly Column<Shard>[] {
  return [
    { title: 'Shard', label: 'Shard', isNumber: true, cell: ({ shard }) => count(shard) },
    {
      title: 'Owner',
      label: 'Owner',
      class: 'wide',
      cell: ({ owner, isOwned }) =>
        isOwned ? (
          <span class="name">{owner}</span>
        ) : (
          <Badge tone="bad" icon="dead">
            no owner
          </Badge>
        ),
    },
    { title: 'Epoch', label: 'Epoch', isNumber: true, cell: ({ epoch }) => count(epoch) },
    {
      title: 'Lease',
      label: 'Lease',
      isNumber: true,
      cell: ({ leaseUntil }) =>
        leaseUntil > at ? `${duration(leaseUntil - now.value < 0 ? 0 : leaseUntil - at)} left` : 'over',
    },
    {
      title: 'Settled up to',
      label: 'Settled up to',
      cell: ({ settledPosition }) =>
        settledPosition <= 0 ? <span class="muted">–</span> : <When at={settledPosition} both={false} />,
    },
    {
      title: 'Read up to',
      label: 'Read up to',
      cell: ({ readPosition }) =>
        readPosition <= 0 ? <span class="muted">–</span> : <When at={readPosition} both={false} />,
    },
    {
      title: 'Behind',
      label: 'Behind',
      isNumber: true,
      cell: ({ behindMs }) =>
        behindMs === undefined ? (
          '–'
        ) : (
          <span class={behindMs > 5000 ? 'bad-text' : ''}>{duration(behindMs)}</span>
        ),
    },
    {
      title: 'In memory',
      label: 'In memory',
      isNumber: true,
      cell: ({ inMemory }) => (inMemory === undefined ? '–' : compact(inMemory)),
    },
    {
      title: 'Queued',
      label: 'Queued',
      isNumber: true,
      cell: ({ queued }) => (queued === undefined ? '–' : compact(queued)),
    },
    {
      title: 'Inbox',
      label: 'Inbox',
      cell: ({ inboxBusy }) =>
        inboxBusy ? <Badge tone="info">has requests</Badge> : <span class="muted">empty</span>,
    },
  ]
}
