import { signal } from '@preact/signals'
import { api } from '../../state/session.ts'
import { Notice } from '../../ui/basics.tsx'
import { ask } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/form.tsx'
import { duration } from '../../ui/format.ts'
import { shownOnce } from './secret-dialog.tsx'

interface TestAnswer {
  readonly delivered: boolean
  readonly status?: number
  readonly ms: number
  readonly body?: string
  readonly error?: string
}

export function askTest(kind: string): void {
  ask({
    title: `Send a test delivery to the target of ${kind}?`,
    body: <p>One signed request goes to its URL. It has no timer behind it, and is marked as a test.</p>,
    action: 'Send it',
    run: async () => {
      const answer = await api.value.send<TestAnswer>('POST', `/v1/targets/${encodeURIComponent(kind)}/test`)
      const { delivered, status, ms, error, body } = answer
      if (!delivered)
        throw new Error(
          `It was not accepted after ${duration(ms)}: ${status ?? ''} ${error ?? ''} ${body ?? ''}`.trim(),
        )
      return `The target answered ${status ?? ''} after ${duration(ms)}.`
    },
  })
}

export function askRotate(kind: string): void {
  const grace = signal('1d')
  ask({
    title: `Make a new secret for ${kind}?`,
    body: (
      <>
        <TextField
          label="The old secret signs along for"
          value={grace.value}
          input={(value) => (grace.value = value)}
          hint="Such as 1d, up to 30d: until then, receivers accept either."
        />
        <Notice>The new secret is shown once.</Notice>
      </>
    ),
    action: 'Make a new secret',
    run: async () => {
      const { secret } = await api.value.send<{ secret: string }>(
        'POST',
        `/v1/targets/${encodeURIComponent(kind)}/rotate`,
        grace.value.trim() === '' ? {} : { grace: grace.value.trim() },
      )
      shownOnce('The new secret', `Give it to the receiver of ${kind}.`, secret)
    },
  })
}

export function askRemoveTarget(kind: string): void {
  ask({
    title: `Remove the target of ${kind}?`,
    body: (
      <p>Timers of this kind wait from then on, unless a program handles them. Its secrets are deleted.</p>
    ),
    action: 'Remove the target',
    isDangerous: true,
    run: async () => {
      await api.value.send('DELETE', `/v1/targets/${encodeURIComponent(kind)}`)
      return `Removed the target of ${kind}.`
    },
  })
}
