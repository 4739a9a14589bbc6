import { isIP } from 'node:net'
import { checkOptions, InvalidInputError, shown, WebhookError } from '../../error/index.js'
import { AddressRanges, isPublicAddress } from './address-ranges.js'
import { NameResolver } from './name-resolver.js'

/** Which addresses outside the public internet webhooks may reach. */
export interface GuardOptions {
  /** Allow http beside https. Default false. */
  readonly http?: boolean
  /** Ports that may be called. Default 443 and 8443, with `http` also 80 and 8080. */
  readonly ports?: readonly number[]
  /** Hosts that may be called whatever their address is, by their exact name. */
  readonly hosts?: readonly string[]
  /** Ranges of addresses that may be called although they are not public: '10.1.0.0/16'. */
  readonly addresses?: readonly string[]
  /** Resolves a name to addresses; for tests, or to use another resolver. */
  readonly resolve?: Resolve
}

/** All addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>

const known = ['http', 'ports', 'hosts', 'addresses', 'resolve']

/**
 * Keeps deliveries on the public internet. A URL is checked when it is set. For every connection the name is resolved and
 * all its addresses are checked. The connection is made to the address that was checked, so a name that changes between
 * the two cannot get around the guard. A name that may not be called gets the same error as a name that does not exist:
 * otherwise a caller could explore a network by its names.
 *
 * Proven by test/delivery/guard.test.ts.
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
    // One guard serves one namespace, so that the lookups of one namespace do not wait for those of another.
    const resolver = new NameResolver()
    this.#resolve = options.resolve ?? ((host) => resolver.addressesOf(host))
  }

  /** Refuses a URL that must not be called, as far as that is known without resolving its name. */
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
    let addresses: readonly string[] = [host]
    try {
      if (!isNumeric) addresses = await this.#resolve(host)
    } catch (error) {
      throw notCallable(error)
    }
    const [first] = addresses
    if (first === undefined) throw notCallable(undefined)
    if (!this.#hosts.has(host) && !addresses.every((address) => this.#isCallable(address)))
      throw notCallable(
        new WebhookError('webhook-refused', 'the guard does not allow an address of this host'),
      )
    return first
  }

  #isCallable(address: string): boolean {
    if (isIP(address.split('%')[0]!) === 0) return false
    return isPublicAddress(address) || this.#allowed.includes(address)
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

/** The error of a name without an address, and of one that leads where the guard allows nothing. Logs get the cause. */
function notCallable(cause: unknown): WebhookError {
  return new WebhookError(
    'webhook-unreachable',
    'the target could not be reached: its host has no address that may be called',
    { cause },
  )
}
