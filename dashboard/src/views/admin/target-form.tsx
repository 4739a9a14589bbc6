import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { messageOf } from '../../api/calls.ts'
import type { Target, TargetType } from '../../api/types.ts'
import { noticeChange } from '../../state/feed.ts'
import { say } from '../../state/messages.ts'
import { api, noticeRefusal } from '../../state/session.ts'
import { Button, Card, Notice } from '../../ui/basics.tsx'
import { Select, TextField } from '../../ui/form.tsx'

/** The fields of a target that the page shows or replaces. Everything else of it is sent back as it came. */
const shownFields = new Set([
  'kind',
  'version',
  'type',
  'url',
  'secretIds',
  'earlierSecrets',
  'headerNames',
  'health',
  'timeout',
  'concurrency',
  'rate',
  'duration',
])

/** Sets where the timers of a kind go. */
export function TargetForm({
  kind,
  before,
  close,
}: {
  readonly kind: string
  readonly before: Target | undefined
  readonly close: () => void
}): JSX.Element {
  const name = useSignal(kind)
  const type = useSignal<TargetType>(before?.type ?? 'webhook')
  const url = useSignal(before?.url ?? '')
  const secret = useSignal(before === undefined ? newSecret() : '')
  const timeout = useSignal(before?.timeout === undefined ? '' : String(before.timeout))
  const concurrency = useSignal(before?.concurrency === undefined ? '' : String(before.concurrency))
  const rate = useSignal(before?.rate === undefined ? '' : String(before.rate))
  const duration = useSignal(before?.duration === undefined ? '' : String(before.duration))
  const error = useSignal<string | undefined>(undefined)
  const save = async (): Promise<void> => {
    const kept = Object.fromEntries(Object.entries(before ?? {}).filter(([field]) => !shownFields.has(field)))
    const isWebhook = type.value === 'webhook'
    const body = {
      ...(type.value === before?.type && kept),
      type: type.value,
      ...(isWebhook && {
        url: url.value.trim(),
        ...(secret.value !== '' && { secret: secret.value.trim() }),
        ...given('timeout', timeout.value, durationOf),
        ...given('rate', rate.value, Number),
      }),
      ...(type.value !== 'log' && given('concurrency', concurrency.value, Number)),
      ...(type.value === 'lease' && given('duration', duration.value, durationOf)),
    }
    try {
      await api.value.send('PUT', `/v1/targets/${encodeURIComponent(name.value)}`, body)
      say(`Saved the target of ${name.value}.`)
      noticeChange()
      close()
    } catch (problem) {
      noticeRefusal(problem)
      error.value = messageOf(problem)
    }
  }
  return (
    <Card title={before === undefined ? 'New target' : `The target of ${kind}`}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        <div class="form-grid">
          <TextField
            label="Kind"
            value={name.value}
            input={(value) => (name.value = value)}
            required
            maxLength={128}
            readOnly={before !== undefined}
          />
          <Select
            label="Where its timers go"
            value={type.value}
            options={[
              ['webhook', 'webhook: a request to a URL'],
              ['lease', 'lease: workers ask for them'],
              ['log', 'log: a line in the log of the server'],
            ]}
            choose={(value) => (type.value = value)}
          />
          {type.value === 'webhook' && (
            <>
              <TextField
                label="URL"
                type="url"
                required
                maxLength={2048}
                value={url.value}
                input={(value) => (url.value = value)}
                hint="It must begin with https:// unless the server allows more."
              />
              <TextField
                label="Secret"
                maxLength={512}
                required={before?.type !== 'webhook'}
                value={secret.value}
                input={(value) => (secret.value = value)}
                hint={
                  before?.type === 'webhook'
                    ? 'Empty: the secrets stay as they are.'
                    : 'It signs the requests. Give it to the receiver: it is shown only now.'
                }
              />
              <TextField
                label="Timeout"
                value={timeout.value}
                input={(value) => (timeout.value = value)}
                hint="Such as 10s. Empty for the default."
              />
              <TextField
                label="Attempts a second"
                inputMode="decimal"
                value={rate.value}
                input={(value) => (rate.value = value)}
                hint="Empty for no limit."
              />
            </>
          )}
          {type.value === 'lease' && (
            <TextField
              label="Lease"
              value={duration.value}
              input={(value) => (duration.value = value)}
              hint="How long a worker has, such as 1m. Empty for the default."
            />
          )}
          {type.value !== 'log' && (
            <TextField
              label="Attempts at once"
              inputMode="numeric"
              value={concurrency.value}
              input={(value) => (concurrency.value = value)}
              hint="In each instance. Empty for the default."
            />
          )}
        </div>
        {error.value !== undefined && (
          <div role="alert">
            <Notice tone="bad">{error.value}</Notice>
          </div>
        )}
        <div class="actions end">
          <Button onClick={close}>Close</Button>
          <Button type="submit" tone="main">
            Save the target
          </Button>
        </div>
      </form>
    </Card>
  )
}

function given(name: string, text: string, valueOf: (text: string) => unknown): Record<string, unknown> {
  return text.trim() === '' ? {} : { [name]: valueOf(text.trim()) }
}

/** Digits alone are milliseconds. */
function durationOf(text: string): number | string {
  return /^\d+$/.test(text) ? Number(text) : text
}

/** A secret as Standard Webhooks has it, made in the browser. */
function newSecret(): string {
  return `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`
}
