import { InvalidInputError, shown } from '../error/index.js'
import { type Duration, parseDuration } from '../time/index.js'
import { parseRetry, type RetryOptions } from '../timer/index.js'
import { parseSecrets, Secret } from '../webhooks/index.js'
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
  /**
   * How long messages also carry a signature of the secrets that `secret` replaces, up to 30 days. Without it, they
   * end at once.
   */
  readonly grace?: Duration
  /** In the store: secrets that were replaced, until their grace is over. */
  readonly earlier?: readonly EarlierSecret[]
  readonly retry?: RetryOptions
}

/** A secret that was replaced, and until when it still signs. */
interface EarlierSecret {
  readonly secret: string
  readonly until: number
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
  | (Omit<WebhookForm, 'secret' | 'headers' | 'grace' | 'earlier'> & {
      readonly secretIds: readonly string[]
      /** Secrets that were replaced and still sign. */
      readonly earlierSecrets?: readonly { readonly id: string; readonly until: number }[]
      readonly headerNames: readonly string[]
    })
  | LeaseForm
  | LogForm
  /** It was sealed with a secret key that this instance does not have. */
  | { readonly type: 'sealed' }
)

/** A target that was parsed from its form. */
export interface ParsedTarget {
  readonly target: Target
  readonly retry: RetryOptions | undefined
}

const MAX_CHARACTERS = 16_384
const MAX_SECRETS = 8
const MAX_GRACE_MS = 30 * 86_400_000

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

function webhookOf(
  { url, earlier = [], ...options }: Omit<WebhookForm, 'type'>,
  guard: Guard | undefined,
): Target {
  if ('guard' in options)
    throw new InvalidInputError(
      'unknown-option',
      'a target in the store has no guard of its own: it is under that of the timers',
    )
  if (Array.isArray(options.secret) && options.secret.length > MAX_SECRETS)
    throw new InvalidInputError('invalid-secret', `a target has at most ${MAX_SECRETS} secrets at a time`)
  // `webhook` refuses a missing secret.
  const plain = {
    ...webhook(url, options as WebhookOptions),
    earlier: earlier.map(({ secret, until }) => ({ secret: Secret.parse(secret), until })),
  }
  return guard === undefined ? plain : guarded(plain, guard)
}

function checkEmpty(options: object): void {
  const [name] = Object.keys(options)
  if (name === undefined) return
  throw new InvalidInputError('unknown-option', `the log takes no options but retry, got ${shown(name)}`)
}

/**
 * A form with the secrets that it replaces, for as long as its `grace` says. A form that keeps its secrets also keeps
 * those that were replaced before.
 */
export function withEarlierSecrets(
  form: TargetForm,
  before: TargetForm | undefined,
  now: number,
): TargetForm {
  if (form?.type !== 'webhook') return form
  const { grace, ...rest } = form
  const graceMs = grace === undefined ? 0 : parseDuration(grace)
  if (graceMs > MAX_GRACE_MS)
    throw new InvalidInputError('invalid-option', `grace may be 30 days at most, got ${shown(grace)}`)
  if (before?.type !== 'webhook') return rest
  const current = new Set(secretsOf(rest))
  const replaced = secretsOf(before).filter((secret) => !current.has(secret))
  const isKept = replaced.length === 0 || graceMs > 0
  const earlier = [
    ...(isKept ? (before.earlier ?? []) : []).filter(
      ({ secret, until }) => until > now && !current.has(secret),
    ),
    ...(graceMs > 0 ? replaced.map((secret) => ({ secret, until: now + graceMs })) : []),
  ].slice(-MAX_SECRETS)
  return earlier.length === 0 ? rest : { ...rest, earlier }
}

function secretsOf({ secret = [] }: WebhookForm): readonly string[] {
  return typeof secret === 'string' ? [secret] : secret
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
  const { secret, headers, grace: _grace, earlier, ...rest } = form
  return {
    kind,
    version,
    ...rest,
    secretIds: parseSecrets(secret!).map(({ id }) => id),
    ...(earlier !== undefined && {
      earlierSecrets: earlier.map(({ secret: each, until }) => ({ id: Secret.parse(each).id, until })),
    }),
    headerNames: Object.keys(headers ?? {}),
  }
}
