import { isIP } from 'node:net'
import { lookup as lookUp } from 'node:dns'
import { checkOptions, InvalidInputError, shown, WebhookError } from '../../error/index.js'
import { AddressRanges, notPublicAddresses } from './address-ranges.js'

export interface GuardOptions {
  /** Allow http beside https. Default false. */
  readonly http?: boolean
  /** Ports that may be called. Default 443 and 8443, with `http` also 80 and 8080. */
  readonly ports?: readonly number[]
  /** Hosts that may be called whatever their address is, by their exact name. */
  readonly hosts?: readonly string[]
  /** Ranges of addresses that may be called although they are not public: '10.1.0.0/16'. */
  readonly addresses?: readonly string[]
  /** Asks the name servers; for tests, and for those who have a resolver of their own. */
  readonly resolve?: Resolve
}

/** All addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>

const known = ['http', 'ports', 'hosts', 'addresses', 'resolve']

/**
 * Keeps deliveries on the public internet. A URL is checked when it is given; the address is checked again for every
 * connection, after the name was resolved, and the connection is made to the very address that was checked: a name
 * that points elsewhere the next moment gains nothing. Whoever gave the URL is told that it is refused, not where it
 * leads.
 */
export class Guard {
  readonly #isHttpAllowed: boolean
  readonly #ports: ReadonlySet<number>
  readonly #hosts: ReadonlySet<string>
  readonly #allowed: AddressRanges
  readonly #resolve: Resolve

  constructor(options: GuardOptions = {}) {
    checkOptions('guard', options, known)
    const { http = false, ports = http ? [443, 8443, 80, 8080] : [443, 8443] } = options
    this.#isHttpAllowed = http
    this.#ports = new Set(ports)
    this.#hosts = new Set(options.hosts?.map((host) => plainHost(host.toLowerCase())))
    this.#allowed = new AddressRanges(options.addresses ?? [])
    this.#resolve = options.resolve ?? resolveByName
  }

  /** Refuses a URL that must not be called, as far as that shows without asking for its address. */
  checkUrl(url: URL): void {
    const { protocol, port } = url
    if (protocol !== 'https:' && !(protocol === 'http:' && this.#isHttpAllowed))
      throw refused(`${shown(protocol.slice(0, -1))} is not allowed here, use https`)
    const number = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
    if (!this.#ports.has(number)) throw refused(`the port ${number} is not allowed here`)
    const host = plainHost(url.hostname)
    if (isIP(host) !== 0 && !this.#hosts.has(host) && !this.#isCallable(host))
      throw refused('its address is not on the public internet')
  }

  /** The address to connect to for a host. Rejects when any of its addresses must not be called. */
  async addressOf(hostname: string): Promise<string> {
    const host = plainHost(hostname)
    const isNumeric = isIP(host) !== 0
    const addresses = isNumeric ? [host] : await this.#resolve(host)
    const [first] = addresses
    if (first === undefined) throw new WebhookError('webhook-unreachable', 'the host has no address')
    if (!this.#hosts.has(host) && !addresses.every((address) => this.#isCallable(address)))
      throw new WebhookError('webhook-refused', 'the host must not be called from here')
    return first
  }

  #isCallable(address: string): boolean {
    if (isIP(address.split('%')[0]!) === 0) return false
    return !notPublicAddresses.includes(address) || this.#allowed.includes(address)
  }
}

/** A host without the brackets of IPv6 and without the dot that may end a name. */
function plainHost(hostname: string): string {
  const inBrackets = /^\[(.*)\]$/.exec(hostname)
  return inBrackets?.[1] ?? hostname.replace(/\.$/, '')
}

function refused(why: string): InvalidInputError {
  return new InvalidInputError('refused-url', `this URL cannot be called: ${why}`)
}

function resolveByName(host: string): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    lookUp(host, { all: true }, (error, addresses) => {
      if (error === null) resolve(addresses.map(({ address }) => address))
      else reject(new WebhookError('webhook-unreachable', 'the host has no address', { cause: error }))
    })
  })
}
