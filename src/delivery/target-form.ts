import { InvalidInputError, shown } from '../error/index.js'
import { parseRetry, type RetryOptions } from '../timer/index.js'
import { parseSecrets } from '../webhooks/index.js'
import { lease, type LeaseOptions } from './lease/lease.js'
import { log, type Target } from './target.js'
import type { Guard } from './webhook/guard.js'
import { guarded, webhook, type WebhookOptions } from './webhook/webhook.js'

/** A URL that gets the timers of a kind. It has no guard: the operator sets that for all targets. */
export interface WebhookForm extends Omit<WebhookOptions, 'guard' | 'secret'> {
  readonly type: 'webhook'
  readonly url: string
  /** As in `WebhookOptions`. If it is left out, the target that is replaced keeps its secret. */
  readonly secret?: string | readonly string[]
  readonly retry?: RetryOptions
}

/** Workers lease the timers of a kind. */
export interface LeaseForm extends LeaseOptions {
  readonly type: 'lease'
  readonly retry?: RetryOptions
}

/** The log gets the timers of a kind. */
export interface LogForm {
  readonly type: 'log'
  readonly retry?: RetryOptions
}

/** A target as JSON, to be kept in the store. `retry` is the policy of its timers, unless they have their own. */
export type TargetForm = WebhookForm | LeaseForm | LogForm

/** A target as it may be shown: only the ids of its secrets and the names of its headers. */
export type TargetView = { readonly kind: string; readonly version: number } & (
  | (Omit<WebhookForm, 'secret' | 'headers'> & {
      readonly secretIds: readonly string[]
      readonly headerNames: readonly string[]
    })
  | LeaseForm
  | LogForm
)

/** A target that was parsed from its form. */
export interface ParsedTarget {
  readonly target: Target
  readonly retry: RetryOptions | undefined
}

const MAX_CHARACTERS = 16_384
const MAX_SECRETS = 8

/** Parses and checks the form of a target. If there is a guard, it applies to webhooks. */
export function parseTargetForm(form: TargetForm, guard: Guard | undefined): ParsedTarget {
  if (typeof form !== 'object' || form === null || Array.isArray(form))
    throw new InvalidInputError('invalid-option', `a target is an object with a type, got ${shown(form)}`)
  const { retry, ...rest } = form
  // Only checks that it can be parsed.
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
  if (Array.isArray(options.secret) && options.secret.length > MAX_SECRETS)
    throw new InvalidInputError('invalid-secret', `a target has at most ${MAX_SECRETS} secrets at a time`)
  // `webhook` refuses a missing secret.
  const plain = webhook(url, options as WebhookOptions)
  return guard === undefined ? plain : guarded(plain, guard)
}

function checkEmpty(options: object): void {
  const [name] = Object.keys(options)
  if (name === undefined) return
  throw new InvalidInputError('unknown-option', `the log takes no options but retry, got ${shown(name)}`)
}

/** The form as a string for the store. A form that is too long is refused. */
export function encodeTargetForm(form: TargetForm): string {
  const text = JSON.stringify(form)
  if (text.length <= MAX_CHARACTERS) return text
  throw new InvalidInputError(
    'invalid-option',
    `a target takes at most ${MAX_CHARACTERS} characters as JSON, got ${text.length}`,
  )
}

export function decodeTargetForm(text: string): TargetForm {
  return JSON.parse(text) as TargetForm
}

/** The parts of a target that may be shown. */
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
