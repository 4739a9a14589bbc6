import { InvalidInputError, shown } from '../../../error/index.js'
import { MAX_SHARDS } from '../../shard-count.js'
import { MAX_WAIT_MS } from '../defaults.js'

/** The parsed URL of a Redis store. */
export interface RedisTarget {
  /** One server, or some nodes of a cluster. The other nodes are found through them. */
  readonly seeds: readonly RedisAddress[]
  readonly isSecure: boolean
  readonly username: string | undefined
  readonly password: string | undefined
  readonly database: number
  /** All keys of the store begin with it. So one database can hold several stores. */
  readonly prefix: string
  /** How many replicas must confirm a write before it is acknowledged. */
  readonly waitReplicas: number
  /** How long to wait for the replicas. */
  readonly waitMs: number
  /** How many shards a new store gets. Undefined for the default. */
  readonly shardCount: number | undefined
  /** Open the store even if the server may evict keys when its memory is full. */
  readonly allowsEviction: boolean
  /** Open the store even if the server keeps no append-only file. */
  readonly allowsNoAof: boolean
  /** Open the store even if the server never flushes its file and leaves that to the system. */
  readonly allowsNoFsync: boolean
  /** Open the store even if the server flushes nothing while it rewrites its file. */
  readonly allowsNoFsyncOnRewrite: boolean
}

const allowances = ['eviction', 'no-aof', 'no-fsync', 'no-fsync-on-rewrite']

export interface RedisAddress {
  readonly host: string
  readonly port: number
}

const EXAMPLES =
  "'redis://localhost:6379', 'rediss://user:password@host:6380/0?prefix=shop' or, for a cluster, 'redis://a:7000,b:7000,c:7000'"
const DEFAULT_PORT = 6379

/** Parses a URL: `redis[s]://[user:password@]host[:port][,host[:port]…][/database][?option=value…]`. */
export function parseRedisUrl(url: string): RedisTarget {
  const parts = /^redis(s?):\/\/(?:([^@/?]*)@)?([^/?]+)(?:\/(\d*))?(?:\?(.*))?$/i.exec(url)
  if (parts === null) throw invalidUrl(url, 'it has no server')
  const [, secure, login, hosts, database = '', query = ''] = parts
  const [username, password] = loginOf(url, login)
  const options = optionsOf(url, query)
  const allowed = (options.get('allow') ?? '').split(',').filter((word) => word !== '')
  for (const word of allowed) {
    if (!allowances.includes(word))
      throw invalidUrl(url, `allow must be one of ${allowances.join(', ')}, got ${shown(word)}`)
  }
  const shards = options.get('shards')
  const prefix = options.get('prefix') ?? 'carillon'
  if (!/^[\w.:-]{1,64}$/.test(prefix)) {
    throw invalidUrl(url, `prefix must be 1 to 64 letters, digits or the signs . : _ -, got ${shown(prefix)}`)
  }
  return {
    seeds: hosts!.split(',').map((host) => addressOf(url, host)),
    isSecure: secure !== '',
    username,
    password,
    database: Number(database),
    prefix,
    waitReplicas: integerOf(url, 'wait', options.get('wait') ?? '0', 0, 100),
    waitMs: integerOf(url, 'waitMs', options.get('waitMs') ?? '1000', 0, MAX_WAIT_MS),
    shardCount: shards === undefined ? undefined : integerOf(url, 'shards', shards, 1, MAX_SHARDS),
    allowsEviction: allowed.includes('eviction'),
    allowsNoAof: allowed.includes('no-aof'),
    allowsNoFsync: allowed.includes('no-fsync'),
    allowsNoFsyncOnRewrite: allowed.includes('no-fsync-on-rewrite'),
  }
}

/** A URL for error messages: without its password. */
function shownRedisUrl(url: string): string {
  return url.replace(/^(rediss?:\/\/[^:@/?]*):[^@/?]*@/i, '$1:…@')
}

export function shownAddress({ host, port }: RedisAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function addressOf(url: string, text: string): RedisAddress {
  const parts = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d+))?$/.exec(text)
  const port = Number(parts?.[3] ?? DEFAULT_PORT)
  if (parts === null || port < 1 || port > 65_535)
    throw invalidUrl(url, `${shown(text)} is not a host with an optional port`)
  return { host: parts[1] ?? parts[2]!, port }
}

function loginOf(url: string, login: string | undefined): [string | undefined, string | undefined] {
  if (login === undefined) return [undefined, undefined]
  const at = login.indexOf(':')
  const [username, password] = at < 0 ? [login, ''] : [login.slice(0, at), login.slice(at + 1)]
  try {
    return [decodeURIComponent(username) || undefined, decodeURIComponent(password) || undefined]
  } catch {
    throw invalidUrl(url, 'its user or password is not valid percent-encoding')
  }
}

const knownOptions = ['prefix', 'wait', 'waitMs', 'shards', 'allow']

function optionsOf(url: string, query: string): Map<string, string> {
  const options = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(query)) {
    if (!knownOptions.includes(name))
      throw invalidUrl(url, `unknown option ${shown(name)}: the options are ${knownOptions.join(', ')}`)
    options.set(name, value)
  }
  return options
}

function integerOf(url: string, name: string, text: string, min: number, max: number): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text)
  throw invalidUrl(url, `${name} must be an integer from ${min} to ${max}, got ${shown(text)}`)
}

function invalidUrl(url: string, why: string): InvalidInputError {
  return new InvalidInputError(
    'invalid-store-url',
    `cannot open the store ${shown(shownRedisUrl(url))}: ${why}. Examples: ${EXAMPLES}`,
  )
}
