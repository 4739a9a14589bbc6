import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { go } from '../../state/router.ts'
import { api } from '../../state/session.ts'
import { Notice } from '../../ui/basics.tsx'
import { ask } from '../../ui/dialog.tsx'
import { startJob, workOn } from './dead-jobs.ts'
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
  const done = signal<number | undefined>(undefined)
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
        <WorkProgress done={done} found={found} />
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
      return await workOnAll('redrive', which, perSecond.value, done)
    },
  })
}

export function askDiscard(which: Which, found: number | undefined): void {
  const done = signal<number | undefined>(undefined)
  ask({
    title: `Discard ${numberWords(found)}?`,
    body: (
      <>
        <Notice tone="warn">
          They are deleted for good, with their payloads. Nobody can redrive them afterwards.
        </Notice>
        <WorkProgress done={done} found={found} />
      </>
    ),
    action: 'Discard for good',
    isDangerous: true,
    run: async () => {
      if ('ids' in which) {
        for (const id of which.ids) await api.value.send('DELETE', '/v1/dead', undefined, { query: { id } })
        return `Discarded ${plural(which.ids.length, 'dead letter')}.`
      }
      return await workOnAll('discard', which, '', done)
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

/** As a job of the server, or if it has none, by this page. */
async function workOnAll(
  action: 'redrive' | 'discard',
  filter: Filter,
  perSecond: string,
  done: { value: number | undefined },
): Promise<string> {
  const job = await startJob(api.value, action, filter, perSecond)
  if (job !== undefined) {
    go(['jobs', job.id])
    return 'The job has started.'
  }
  done.value = 0
  const changed = await workOn(api.value, action, filter, perSecond, (finished) => (done.value = finished))
  return `${action === 'redrive' ? 'Redrove' : 'Discarded'} ${plural(changed, 'dead letter')}.`
}

function WorkProgress({
  done,
  found,
}: {
  readonly done: { value: number | undefined }
  readonly found: number | undefined
}): JSX.Element | null {
  if (done.value === undefined) return null
  return (
    <p role="status">
      <progress max={found ?? 1} value={done.value} aria-label="Progress" />{' '}
      {plural(done.value, 'dead letter')}
    </p>
  )
}

function numberWords(found: number | undefined): string {
  return found === undefined ? 'these dead letters' : plural(found, 'dead letter')
}
