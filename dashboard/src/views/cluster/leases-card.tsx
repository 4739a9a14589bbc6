import type { JSX } from 'preact'
import type { Leases } from '../../api/types.ts'
import { useResource } from '../../state/resource.ts'
import { timerHref } from '../../state/router.ts'
import { api, can } from '../../state/session.ts'
import { Button, Card, Loaded, When } from '../../ui/basics.tsx'
import { ask } from '../../ui/dialog.tsx'
import { count, plural } from '../../ui/format.ts'
import { Table } from '../../ui/table.tsx'

type Lease = Leases['leases'][number]

/** The workers: who holds which firing, and who waits for one. */
export function LeasesCard(): JSX.Element | null {
  const leases = useResource('leases', (current, signal) => current.get<Leases>('/v1/leases', {}, signal), {
    everyMs: 3000,
    live: true,
  })
  if (leases.isMissing) return null
  return (
    <Card title="Workers" note="Programs that ask for firings of kinds whose target is lease.">
      <Loaded from={leases} what="leases">
        {({ leases: held, waiting }) => (
          <>
            <p>
              {waiting.length === 0
                ? 'No worker waits for a firing.'
                : `${plural(waiting.length, 'worker')} ${waiting.length === 1 ? 'waits' : 'wait'} for a firing of ${[...new Set(waiting.flatMap(({ kinds }) => kinds))].join(', ')}.`}
            </p>
            {held.length === 0 ? (
              <p class="muted">No firing is leased now.</p>
            ) : (
              <Table
                label="Leased firings"
                rows={held}
                keyOf={({ id, attempt, kind, key }) => `${kind} ${key} ${id} ${attempt}`}
                columns={[
                  { title: 'Kind', label: 'Kind', cell: ({ kind }) => <span class="name">{kind}</span> },
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
                  {
                    title: 'Attempt',
                    label: 'Attempt',
                    isNumber: true,
                    cell: ({ attempt }) => count(attempt),
                  },
                  {
                    title: 'Leased',
                    label: 'Leased',
                    cell: ({ leasedAt }) => <When at={leasedAt} both={false} />,
                  },
                  {
                    title: 'Ends',
                    label: 'Ends',
                    cell: ({ leaseUntil }) => <When at={leaseUntil} both={false} />,
                  },
                  {
                    title: 'Instance',
                    label: 'Instance',
                    cell: ({ member }) => <span class="name">{member}</span>,
                  },
                  {
                    title: 'Actions',
                    label: 'Actions',
                    cell: (lease) =>
                      can('write') && lease.receipt !== undefined ? (
                        <Button tone="quiet" onClick={() => askRelease(lease)}>
                          Release
                        </Button>
                      ) : (
                        <span class="muted">–</span>
                      ),
                  },
                ]}
              />
            )}
          </>
        )}
      </Loaded>
    </Card>
  )
}

function askRelease({ key, receipt }: Lease): void {
  ask({
    title: `Release ${key}?`,
    body: (
      <p>
        Its lease ends, and the attempt counts as failed. Another worker gets it by its retry policy. The
        worker that has it now can no longer answer.
      </p>
    ),
    action: 'Release',
    isDangerous: true,
    run: async () => {
      await api.value.send('POST', `/v1/leases/${encodeURIComponent(receipt ?? '')}/release`, {
        reason: 'released by an operator',
      })
      return `Released ${key}.`
    },
  })
}
