import type { Logger as PinoLogger } from 'pino'
import { checkOptions, checkWhole, InvalidInputError, shown, StateError } from '../error/index.js'
import type { GuardOptions } from '../delivery/index.js'
import type { HistoryPolicy } from '../front/index.js'
import type { EngineSettings } from '../engine/index.js'
import { type Clock, systemClock } from '../time/index.js'
import type { Store } from '../store/index.js'

export interface ServerOptions {
  /** Where timers are kept, as for `openTimers`. */
  readonly store: string | Store
  /** Default 127.0.0.1. */
  readonly host?: string
  /** Default 7750; 0 for one that is free. */
  readonly port?: number
  /** Whether requests need a key. Default true; without, only on loopback. */
  readonly auth?: boolean
  /** Requests a second for each key; 0 for no limit. Default 10,000. */
  readonly rate?: number
  /** What a single request may weigh. Batches may weigh 8 MiB. Default 1 MiB. */
  readonly maxBodyBytes?: number
  /** Within what time a request must have come whole. Default 60 s. */
  readonly requestTimeoutMs?: number
  /** Web pages of these origins may call. Default none. */
  readonly corsOrigins?: readonly string[]
  readonly history?: HistoryPolicy
  /** What webhooks may reach beside the public internet. Default nothing. */
  readonly guard?: GuardOptions
  readonly engine?: Partial<EngineSettings>
  /** Whether instances of one store ask each other directly, where that is quicker than by the store. Default true. */
  readonly forwarding?: boolean
  /** Where other instances reach this one, such as `http://10.0.0.5:7750`. Default: where it listens. */
  readonly address?: string
  /** Traces timers by OpenTelemetry, with whatever SDK the process has set up. Default false. */
  readonly tracing?: boolean
  readonly logger?: PinoLogger
  readonly clock?: Clock
}

export type CompleteServerOptions = Required<Omit<ServerOptions, 'address' | 'logger'>> &
  Pick<ServerOptions, 'address' | 'logger'>

const defaults = Object.freeze({
  host: '127.0.0.1',
  port: 7750,
  auth: true,
  rate: 10_000,
  maxBodyBytes: 1_048_576,
  requestTimeoutMs: 60_000,
  corsOrigins: [],
  history: 'failures',
  engine: {},
  tracing: false,
  guard: {},
  forwarding: true,
  clock: systemClock,
} as const)

/** Checks options and fills in the defaults. Refuses to serve strangers without keys. */
export function serverOptions(options: ServerOptions): CompleteServerOptions {
  checkOptions('a server', options, ['store', 'address', 'logger', ...Object.keys(defaults)])
  const complete = { ...defaults, ...options }
  checkWhole('port', complete.port, 0, 65_535)
  checkWhole('rate', complete.rate, 0)
  checkWhole('maxBodyBytes', complete.maxBodyBytes, 1024, 268_435_456)
  checkWhole('requestTimeoutMs', complete.requestTimeoutMs, 1000)
  for (const origin of complete.corsOrigins) checkOrigin(origin)
  if (complete.address !== undefined) checkOrigin(complete.address)
  if (!complete.auth && !isLoopback(complete.host)) {
    throw new StateError(
      'off-loopback',
      `without keys a server listens on 127.0.0.1, ::1 or localhost only, not on ${shown(complete.host)}`,
    )
  }
  return complete
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
}

function checkOrigin(origin: string): void {
  if (/^https?:\/\/[^/\s*]+$/.test(origin)) return
  throw new InvalidInputError(
    'invalid-option',
    `an origin is a scheme and a host such as https://app.example.org, got ${shown(origin)}`,
  )
}
