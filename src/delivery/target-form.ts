import { InvalidInputError, shown } from '../error/index.js'
import { parseRetry, type RetryOptions } from '../timer/index.js'
import { parseSecrets } from '../webhooks/index.js'
import { lease, type LeaseOptions } from './lease/lease.js'
import { log, type Target } from './target.js'
import type { Guard } from './webhook/guard.js'
import { guarded, webhook, type WebhookOptions } from './webhook/webhook.js'

/** A URL that gets the timers of a kind. It names no guard: that is for whoever runs the timers to say. */
export interface WebhookForm extends Omit<WebhookOptions, 'guard' | 'secret'> {
  readonly type: 'webhook'
  readonly url: string
  /** As of a webhook. Left out, the target that is replaced keeps its own. */
  readonly secret?: string | readonly string[]
  readonly retry?: RetryOptions
}

/** Workers that ask for the timers of a kind. */
export interface LeaseForm extends LeaseOptions {
  readonly type: 'lease'
  readonly retry?: RetryOptions
}

/** The log gets the timers of a kind. */
export interface LogForm {
  readonly type: 'log'
  readonly retry?: RetryOptions
}

/** A target as JSON, to be kept in the store. `retry` is the policy of its timers, unless they bring their own. */
export type TargetForm = WebhookForm | LeaseForm | LogForm

/** A target as it may be shown: its secrets by their ids, its headers by their names. */
export type TargetView = { readonly kind: string; readonly version: number } & (
  | (Omit<WebhookForm, 'secret' | 'headers'> & {
      readonly secretIds: readonly string[]
      readonly headerNames: readonly string[]
    })
  | LeaseForm
  | LogForm
)

/** A target out of its form. */
export interface ParsedTarget {
  readonly target: Target
  readonly retry: RetryOptions | undefined
}

const MOST_CHARACTERS = 16_384
const MOST_SECRETS = 8

/** Reads a target's form; what is wrong with it is refused. Where there is a guard, a webhook is under it. */
export function parseTargetForm(form: TargetForm, guard: Guard | undefined): ParsedTarget {
  if (typeof form !== 'object' || form === null || Array.isArray(form))
    throw new InvalidInputError('invalid-option', `a target is an object with a type, got ${shown(form)}`)
  const { retry, ...rest } = form
  // Only to see that it can be read.
  parseRetry(retry)
  return { target: targetOf(rest, guard), retry }
}

function targetOf(form: TargetForm, guard: Guard | undefined): Target {
  const { type, ...options } = form as { readonly type: unknown }
  switch (type) {
    case 'webhook':
      return webhookOf(options as Omit<WebhookForm, 'type'>, guard)
    case 'lease':
      return lease(options)
    case 'log':
      checkEmpty(options)
      return log()
    default:
      throw new InvalidInputError(
        'invalid-option',
        `the type of a target is webhook, lease or log, got ${shown(type)}`,
      )
  }
}

function webhookOf({ url, ...options }: Omit<WebhookForm, 'type'>, guard: Guard | undefined): Target {
  if ('guard' in options)
    throw new InvalidInputError(
      'unknown-option',
      'a target in the store has no guard of its own: it is under that of the timers',
    )
  if (Array.isArray(options.secret) && options.secret.length > MOST_SECRETS)
    throw new InvalidInputError('invalid-secret', `a target has at most ${MOST_SECRETS} secrets at a time`)
  // Without a secret it is refused where secrets are read.
  const plain = webhook(url, options as WebhookOptions)
  return guard === undefined ? plain : guarded(plain, guard)
}

function checkEmpty(options: object): void {
  const [name] = Object.keys(options)
  if (name === undefined) return
  throw new InvalidInputError('unknown-option', `the log takes no options but retry, got ${shown(name)}`)
}

/** A form as text for the store; one that is too long is refused. */
export function encodeTargetForm(form: TargetForm): string {
  const text = JSON.stringify(form)
  if (text.length <= MOST_CHARACTERS) return text
  throw new InvalidInputError(
    'invalid-option',
    `a target takes at most ${MOST_CHARACTERS} characters as JSON, got ${text.length}`,
  )
}

export function decodeTargetForm(text: string): TargetForm {
  return JSON.parse(text) as TargetForm
}

/** What may be shown of a target. */
export function viewOfTarget(kind: string, version: number, form: TargetForm): TargetView {
  if (form.type !== 'webhook') return { kind, version, ...form }
  const { secret, headers, ...rest } = form
  return {
    kind,
    version,
    ...rest,
    secretIds: parseSecrets(secret!).map(({ id }) => id),
    headerNames: Object.keys(headers ?? {}),
  }
}
