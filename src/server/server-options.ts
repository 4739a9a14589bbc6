import type { IncomingMessage } from 'node:http'
import type { Logger as PinoLogger } from 'pino'
import { checkOptions, checkInteger, InvalidInputError, shown, StateError } from '../error/index.js'
import type { GuardOptions } from '../delivery/index.js'
import type { HistoryPolicy } from '../front/index.js'
import type { EngineSettings } from '../engine/index.js'
import type { Clock } from '../time/index.js'
import type { Store } from '../store/index.js'
import type { Scope } from './api-keys.js'
import { defaultOptions } from './defaults.js'
import { checkHandlerModules, type HandlerModule } from './handler-modules.js'

/** A user whom the program has authenticated itself. */
export interface Caller {
  /** Shown in the audit log. */
  readonly name: string
  readonly scope: Scope
  /** Default: all namespaces. */
  readonly namespace?: string
}

/** The options of `Server.start` and `Server.mount`. */
export interface ServerOptions {
  /** The store's URL, or an open store, as for `openTimers`. */
  readonly store: string | Store
  /** Default 127.0.0.1. */
  readonly host?: string
  /** Default 7750; 0 picks a free port. */
  readonly port?: number
  /** Whether requests need a key. Default true. Without keys the server listens on loopback only. */
  readonly auth?: boolean
  /** Requests per second for each key; 0 for no limit. Default 10,000. */
  readonly rate?: number
  /** The largest body of a request. Default 1 MiB. Batches may have 8 MiB. */
  readonly maxBodyBytes?: number
  /** The time in which a whole request must arrive. Default 60 s. */
  readonly requestTimeoutMs?: number
  /**
   * How long a request may wait for the store, besides the time that it waits on purpose. Then it is refused, and what
   * was not sent to the store by then never is. Default 10 s.
   */
  readonly callTimeoutMs?: number
  /** Web pages of these origins may call the server. Default none. */
  readonly corsOrigins?: readonly string[]
  readonly history?: HistoryPolicy
  /** What webhooks may reach besides the public internet. Default nothing. */
  readonly guard?: GuardOptions
  /**
   * Encrypts the targets in the store: see `secretKey` of `openTimers`. Default: targets are stored as they are. On a
   * file store `carillon serve` makes a key of its own.
   */
  readonly secretKey?: string
  readonly engine?: Partial<EngineSettings>
  /** Modules that handle kinds on threads of this server. Default none. */
  readonly handlers?: readonly HandlerModule[]
  /** Whether instances send operations directly to the owner of a shard, not through the store. Default true. */
  readonly forwarding?: boolean
  /** Where other instances reach this one, such as `http://10.0.0.5:7750`. Default: where it listens. */
  readonly address?: string
  /** Where backups of a file store go. Default: the server makes none. */
  readonly backupFolder?: string
  /** Traces timers with OpenTelemetry, through the SDK that the process has set up. Default false. */
  readonly tracing?: boolean
  /**
   * Says who sends a request, by your own means such as a session cookie. Undefined: the request needs an API key.
   */
  readonly authenticate?: (request: IncomingMessage) => Caller | undefined | Promise<Caller | undefined>
  readonly logger?: PinoLogger
  readonly clock?: Clock
}

export type CompleteServerOptions = Required<
  Omit<ServerOptions, 'address' | 'authenticate' | 'backupFolder' | 'logger' | 'secretKey'>
> &
  Pick<ServerOptions, 'address' | 'authenticate' | 'backupFolder' | 'logger' | 'secretKey'>

/** Checks options and fills in the defaults. Without keys it accepts only loopback addresses. */
export function serverOptions(options: ServerOptions): CompleteServerOptions {
  checkOptions('a server', options, [
    'store',
    'address',
    'authenticate',
    'backupFolder',
    'logger',
    'secretKey',
    ...Object.keys(defaultOptions),
  ])
  const complete = { ...defaultOptions, ...options }
  checkInteger('port', complete.port, 0, 65_535)
  checkInteger('rate', complete.rate, 0)
  checkInteger('maxBodyBytes', complete.maxBodyBytes, 1024, 268_435_456)
  checkInteger('requestTimeoutMs', complete.requestTimeoutMs, 1000)
  checkInteger('callTimeoutMs', complete.callTimeoutMs, 100, 3_600_000)
  checkHandlerModules(complete.handlers)
  for (const origin of complete.corsOrigins) checkOrigin(origin)
  if (complete.address !== undefined) checkOrigin(complete.address)
  if (!complete.auth && !isLoopback(complete.host)) {
    throw new StateError(
      'off-loopback',
      `a server without keys must listen on 127.0.0.1, ::1 or localhost, got host ${shown(complete.host)}`,
    )
  }
  return complete
}

/** Whether only programs of this machine can reach an address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
}

function checkOrigin(origin: string): void {
  if (/^https?:\/\/[^/\s*]+$/.test(origin)) return
  throw new InvalidInputError(
    'invalid-option',
    `an origin must be a scheme and a host, such as https://app.example.org, got ${shown(origin)}`,
  )
}
