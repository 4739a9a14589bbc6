import { InvalidInputError, shown } from '../../error/index.js'
import { MOST_SHARDS } from '../shard-count.js'

/** What a URL of a Redis store says. */
export interface RedisTarget {
  /** Where it is: one server, or some nodes of a cluster, through which the others are found. */
  readonly seeds: readonly RedisAddress[]
  readonly isSecure: boolean
  readonly username: string | undefined
  readonly password: string | undefined
  readonly database: number
  /** What the names of all its keys begin with: several stores fit into one database. */
  readonly prefix: string
  /** How many replicas must have a write before it is acknowledged. */
  readonly waitReplicas: number
  /** How long to wait for them. */
  readonly waitMs: number
  /** How many shards a new store gets; undefined for the usual number. */
  readonly shardCount: number | undefined
  /** Open it although the server may throw keys away when its memory is full. */
  readonly allowsEviction: boolean
  /** Open it although the server keeps no append-only file. */
  readonly allowsNoAof: boolean
}

export interface RedisAddress {
  readonly host: string
  readonly port: number
}

const EXAMPLES =
  "'redis://localhost:6379', 'rediss://user:password@host:6380/0?prefix=shop' or, for a cluster, 'redis://a:7000,b:7000,c:7000'"
const DEFAULT_PORT = 6379
// A server that does not answer for longer than a socket may be silent is given up.
const MOST_WAIT_MS = 5000

/** Reads a URL: `redis[s]://[user:password@]host[:port][,host[:port]…][/database][?option=value…]`. */
export function parseRedisUrl(url: string): RedisTarget {
  const parts = /^redis(s?):\/\/(?:([^@/?]*)@)?([^/?]+)(?:\/(\d*))?(?:\?(.*))?$/i.exec(url)
  if (parts === null) throw refused(url, 'it names no server')
  const [, secure, login, hosts, database = '', query = ''] = parts
  const [username, password] = loginOf(url, login)
  const options = optionsOf(url, query)
  const allowed = (options.get('allow') ?? '').split(',').filter((word) => word !== '')
  for (const word of allowed) {
    if (word !== 'eviction' && word !== 'no-aof')
      throw refused(url, `allow takes eviction and no-aof, got ${shown(word)}`)
  }
  const shards = options.get('shards')
  const prefix = options.get('prefix') ?? 'carillon'
  if (!/^[\w.:-]{1,64}$/.test(prefix)) {
    throw refused(url, `prefix takes 1 to 64 letters, digits and the signs . : _ -, got ${shown(prefix)}`)
  }
  return {
    seeds: hosts!.split(',').map((host) => addressOf(url, host)),
    isSecure: secure !== '',
    username,
    password,
    database: Number(database),
    prefix,
    waitReplicas: wholeOf(url, 'wait', options.get('wait') ?? '0', 0, 100),
    waitMs: wholeOf(url, 'waitMs', options.get('waitMs') ?? '1000', 0, MOST_WAIT_MS),
    shardCount: shards === undefined ? undefined : wholeOf(url, 'shards', shards, 1, MOST_SHARDS),
    allowsEviction: allowed.includes('eviction'),
    allowsNoAof: allowed.includes('no-aof'),
  }
}

/** A URL as it may be shown: without its password. */
function shownRedisUrl(url: string): string {
  return url.replace(/^(rediss?:\/\/[^:@/?]*):[^@/?]*@/i, '$1:…@')
}

export function shownAddress({ host, port }: RedisAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function addressOf(url: string, text: string): RedisAddress {
  const parts = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d+))?$/.exec(text)
  const port = Number(parts?.[3] ?? DEFAULT_PORT)
  if (parts === null || port < 1 || port > 65_535) throw refused(url, `${shown(text)} is no host and port`)
  return { host: parts[1] ?? parts[2]!, port }
}

function loginOf(url: string, login: string | undefined): [string | undefined, string | undefined] {
  if (login === undefined) return [undefined, undefined]
  const at = login.indexOf(':')
  const [username, password] = at < 0 ? [login, ''] : [login.slice(0, at), login.slice(at + 1)]
  try {
    return [decodeURIComponent(username) || undefined, decodeURIComponent(password) || undefined]
  } catch {
    throw refused(url, 'its user and password cannot be decoded')
  }
}

const known = ['prefix', 'wait', 'waitMs', 'shards', 'allow']

function optionsOf(url: string, query: string): Map<string, string> {
  const options = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(query)) {
    if (!known.includes(name))
      throw refused(url, `it takes the options ${known.join(', ')}, got ${shown(name)}`)
    options.set(name, value)
  }
  return options
}

function wholeOf(url: string, name: string, text: string, least: number, most: number): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text)
  throw refused(url, `${name} takes a whole number from ${least} to ${most}, got ${shown(text)}`)
}

function refused(url: string, why: string): InvalidInputError {
  return new InvalidInputError(
    'invalid-store-url',
    `cannot open the store ${shown(shownRedisUrl(url))}: ${why}. Examples: ${EXAMPLES}`,
  )
}
