import { signal } from '@preact/signals'
import type { Job } from '../../api/types.ts'
import { go } from '../../state/router.ts'
import { api } from '../../state/session.ts'
import { Notice } from '../../ui/basics.tsx'
import { ask } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/form.tsx'
import { plural } from '../../ui/format.ts'

/** Which dead letters: some by their ids, or all that match. */
export type Which = { readonly ids: readonly string[] } | Filter

export interface Filter {
  readonly kind?: string
  readonly key?: string
  readonly reason?: string
  readonly diedFrom?: number
  readonly all?: true
}

/** Sets dead letters again, due now: single ones at once, many as a job of the server, as slowly as wanted. */
export function askRedrive(which: Which, found: number | undefined): void {
  const perSecond = signal('')
  const isSingle = 'ids' in which
  ask({
    title: `Redrive ${numberWords(found)}?`,
    body: (
      <>
        <p>
          Each is set again, due now, with its payload. An attempt that fails may become a dead letter once
          more.
        </p>
        {!isSingle && <RateField perSecond={perSecond} />}
      </>
    ),
    action: 'Redrive',
    run: async () => {
      if (isSingle) {
        const { count, beside } = await api.value.send<{ count: number; beside: readonly { key: string }[] }>(
          'POST',
          '/v1/dead/redrive',
          which,
        )
        const [other] = beside
        return other === undefined
          ? `Redrove ${plural(count, 'dead letter')}.`
          : `A timer of that key was set meanwhile, so the dead letter was set as ${other.key}.`
      }
      await startJob('redrive', which, perSecond.value)
      return 'The job has started.'
    },
  })
}

export function askDiscard(which: Which, found: number | undefined): void {
  ask({
    title: `Discard ${numberWords(found)}?`,
    body: (
      <Notice tone="warn">
        They are deleted for good, with their payloads. Nobody can redrive them afterwards.
      </Notice>
    ),
    action: 'Discard for good',
    isDangerous: true,
    run: async () => {
      if ('ids' in which) {
        for (const id of which.ids) await api.value.send('DELETE', '/v1/dead', undefined, { query: { id } })
        return `Discarded ${plural(which.ids.length, 'dead letter')}.`
      }
      await startJob('discard', which, '')
      return 'The job has started.'
    },
  })
}

function RateField({ perSecond }: { readonly perSecond: { value: string } }) {
  return (
    <TextField
      label="At most this many a second"
      inputMode="numeric"
      maxLength={6}
      value={perSecond.value}
      input={(value) => (perSecond.value = value.replace(/\D/g, ''))}
      hint="So that a target that has just recovered is not overrun. Empty for no limit."
    />
  )
}

async function startJob(action: 'redrive' | 'discard', filter: Filter, perSecond: string): Promise<void> {
  const { id } = await api.value.send<Job>('POST', '/v1/jobs', {
    action,
    filter,
    ...(perSecond !== '' && { perSecond: Number(perSecond) }),
  })
  go(['jobs', id])
}

function numberWords(found: number | undefined): string {
  return found === undefined ? 'these dead letters' : plural(found, 'dead letter')
}
