import { Resolver } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { type Clock, systemClock, type Wake } from '../../time/index.js'
import { LookupSeats } from './lookup-seats.js'

/** An address, and for how many seconds its name server vouches for it. */
export interface TimedAddress {
  readonly address: string
  readonly ttl: number
}

/** Asks name servers for the addresses of one name, of both families. */
export type AskNameServers = (name: string) => Promise<readonly TimedAddress[]>

interface NameResolverOptions {
  readonly clock?: Clock
  readonly ask?: AskNameServers
  /** The name servers to ask. Default: those of the system. */
  readonly servers?: readonly string[]
  /** The files of the system; for tests. */
  readonly hostsFile?: string
  readonly resolverFile?: string
}

const settings = Object.freeze({
  /** Name lookups under way for one guard: that is, for one namespace. */
  seats: 16,
  /** After this time a lookup has failed, whatever the name server does. */
  timeoutMs: 5000,
  /** How long an answer is kept at least and at most, whatever its time to live is. */
  minKeptMs: 1000,
  maxKeptMs: 60_000,
  /** How long a failure is kept. */
  failureKeptMs: 2000,
  /** Names that are kept. */
  maxKept: 1000,
  /** How long the files of the system are not read again. */
  filesKeptMs: 10_000,
})

interface Kept {
  readonly addresses: readonly string[]
  readonly until: number
}

/**
 * Resolves the names of webhooks without the thread pool of Node, where a silent name server would stop every other
 * lookup and file operation of the process. Each lookup ends within five seconds. A resolver belongs to one namespace
 * and has 16 lookups under way at most; more wait for their turn. Answers are kept as long as their time to live says,
 * between one second and one minute.
 *
 * Names in the hosts file come first, and `localhost` is always this machine. Names without a dot, and names that are
 * not found, are tried with the search domains of the system.
 *
 * Proven by test/delivery/name-resolver.test.ts.
 */
export class NameResolver {
  readonly #clock: Clock
  readonly #ask: AskNameServers
  readonly #files: SystemFiles
  readonly #seats = new LookupSeats(settings.seats)
  readonly #kept = new Map<string, Kept>()
  readonly #underWay = new Map<string, Promise<readonly string[]>>()

  constructor(options: NameResolverOptions = {}) {
    this.#clock = options.clock ?? systemClock
    this.#ask = options.ask ?? nameServers(this.#clock, options.servers)
    this.#files = new SystemFiles(this.#clock, options.hostsFile, options.resolverFile)
  }

  /** All addresses of a name; none if it has none, or if no name server answered in time. */
  async addressesOf(host: string): Promise<readonly string[]> {
    const name = host.toLowerCase()
    if (name === 'localhost' || name.endsWith('.localhost')) return ['127.0.0.1', '::1']
    const given = this.#files.hosts.get(name)
    if (given !== undefined) return given
    const kept = this.#kept.get(name)
    if (kept !== undefined && this.#clock.monotonic() < kept.until) return kept.addresses
    let asking = this.#underWay.get(name)
    if (asking === undefined) {
      asking = this.#seats
        .run(() => this.#within(this.#searched(name)))
        .then((found) => this.#keep(name, found))
        .finally(() => this.#underWay.delete(name))
      this.#underWay.set(name, asking)
    }
    return await asking
  }

  /** Tries the name itself and with the search domains, until one has an address. */
  async #searched(name: string): Promise<readonly TimedAddress[]> {
    const others = this.#files.searchDomains.map((domain) => `${name}.${domain}`)
    for (const each of name.includes('.') ? [name, ...others] : [...others, name]) {
      const found = await this.#ask(each)
      if (found.length > 0) return found
    }
    return []
  }

  /** What was found by the deadline; nothing if it comes first. */
  async #within(searching: Promise<readonly TimedAddress[]>): Promise<readonly TimedAddress[]> {
    let wake: Wake | undefined
    const over = new Promise<readonly TimedAddress[]>((resolve) => {
      wake = this.#clock.wakeAfter(settings.timeoutMs, () => resolve([]), { keepAlive: false })
    })
    try {
      return await Promise.race([searching.catch(() => []), over])
    } finally {
      wake?.cancel()
    }
  }

  #keep(name: string, found: readonly TimedAddress[]): readonly string[] {
    const { minKeptMs, maxKeptMs, failureKeptMs, maxKept } = settings
    const ttlMs = Math.min(...found.map(({ ttl }) => ttl)) * 1000
    const forMs = found.length === 0 ? failureKeptMs : Math.min(Math.max(ttlMs, minKeptMs), maxKeptMs)
    const addresses = found.map(({ address }) => address)
    this.#kept.delete(name)
    this.#kept.set(name, { addresses, until: this.#clock.monotonic() + forMs })
    // The oldest goes first: a map keeps its order.
    if (this.#kept.size > maxKept) this.#kept.delete(this.#kept.keys().next().value!)
    return addresses
  }
}

/** The hosts file and the search domains of the system, read again when they are old. */
class SystemFiles {
  readonly #clock: Clock
  readonly #hostsFile: string
  readonly #resolverFile: string
  #readAt = -Infinity
  #hosts = new Map<string, string[]>()
  #searchDomains: readonly string[] = []

  constructor(clock: Clock, hostsFile = '/etc/hosts', resolverFile = '/etc/resolv.conf') {
    this.#clock = clock
    this.#hostsFile = hostsFile
    this.#resolverFile = resolverFile
  }

  get hosts(): ReadonlyMap<string, readonly string[]> {
    this.#refresh()
    return this.#hosts
  }

  get searchDomains(): readonly string[] {
    this.#refresh()
    return this.#searchDomains
  }

  #refresh(): void {
    const now = this.#clock.monotonic()
    if (now - this.#readAt < settings.filesKeptMs) return
    this.#readAt = now
    this.#hosts = new Map()
    for (const [address, ...names] of wordsOf(this.#hostsFile)) {
      for (const name of names) {
        const addresses = this.#hosts.get(name) ?? []
        this.#hosts.set(name, [...addresses, address!])
      }
    }
    this.#searchDomains = []
    for (const [option, ...domains] of wordsOf(this.#resolverFile))
      if (option === 'search' || option === 'domain') this.#searchDomains = domains
  }
}

/** The words of each line of a file, in lower case and without comments; none if it cannot be read. */
function wordsOf(file: string): string[][] {
  let text = ''
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    // Not every system has it.
  }
  return text
    .toLowerCase()
    .split('\n')
    .map((line) =>
      line
        .replace(/[#;].*/, '')
        .split(/\s+/)
        .filter(Boolean),
    )
    .filter((words) => words.length > 1)
}

/** Asks the name servers of the system over sockets, not over the thread pool. */
function nameServers(clock: Clock, servers: readonly string[] | undefined): AskNameServers {
  const newResolver = (): Resolver => {
    const made = new Resolver({ timeout: 2000, tries: 2 })
    if (servers !== undefined) made.setServers(servers)
    return made
  }
  let resolver = newResolver()
  let madeAt = clock.monotonic()
  return async (name) => {
    // A new one reads the addresses of the name servers again.
    if (clock.monotonic() - madeAt >= settings.filesKeptMs) {
      resolver = newResolver()
      madeAt = clock.monotonic()
    }
    const options = { ttl: true } as const
    const families = await Promise.all([
      resolver.resolve4(name, options).catch(() => []),
      resolver.resolve6(name, options).catch(() => []),
    ])
    return families.flat()
  }
}
