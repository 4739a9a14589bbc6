import { BlockList, isIP } from 'node:net'
import { InvalidInputError, shown } from '../../error/index.js'

/** Ranges that are not the public internet. IPv6 ranges that carry an IPv4 address are among them. */
const notPublic: readonly string[] = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // shared by carriers
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local, where clouds keep their metadata
  '172.16.0.0/12', // private
  '192.0.0.0/24', // for protocols
  '192.0.2.0/24', // for documents
  '192.31.196.0/24', // for name servers
  '192.52.193.0/24', // a relay
  '192.88.99.0/24', // a 6to4 relay
  '192.168.0.0/16', // private
  '192.175.48.0/24', // for name servers
  '198.18.0.0/15', // for benchmarks
  '198.51.100.0/24', // for documents
  '203.0.113.0/24', // for documents
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved
  '100.100.100.200/32', // a cloud's metadata
  '168.63.129.16/32', // a cloud's own services
  '::/96', // an IPv4 address in IPv6, unspecified or loopback
  '::ffff:0:0/96', // an IPv4 address in IPv6
  '::ffff:0:0:0/96', // an IPv4 address in IPv6
  '64:ff9b::/96', // an IPv4 address behind NAT64
  '64:ff9b:1::/48', // an IPv4 address behind NAT64
  '100::/64', // thrown away
  '2001::/23', // for protocols, Teredo among them
  '2001:db8::/32', // for documents
  '2002::/16', // an IPv4 address behind 6to4
  '3fff::/20', // for documents
  '5f00::/16', // for segment routing
  'fc00::/7', // private
  'fe80::/10', // link-local
  'fec0::/10', // site-local
  'ff00::/8', // multicast
]

/** A set of address ranges. */
export class AddressRanges {
  // With their family: BlockList treats an IPv4 address and its IPv6 form as one. Here they differ.
  readonly #ranges: { readonly list: BlockList; readonly family: number }[] = []

  constructor(ranges: Iterable<string>) {
    for (const range of ranges) {
      const [address = '', bits, ...rest] = range.split('/')
      const family = isIP(address)
      const most = family === 4 ? 32 : 128
      const prefix = bits === undefined ? most : Number(bits)
      // `Number('')` is 0: an address with nothing after its slash must not become the whole internet.
      const isNumber = bits === undefined || /^(?:0|[1-9]\d{0,2})$/.test(bits)
      const isRight = family !== 0 && rest.length === 0 && isNumber && prefix <= most
      if (!isRight)
        throw new InvalidInputError(
          'invalid-option',
          `a range of addresses is written like '10.0.0.0/8' or 'fd00::/8', got ${shown(range)}`,
        )
      const list = new BlockList()
      list.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6')
      this.#ranges.push({ list, family })
    }
  }

  /** Whether an address is in one of them. */
  includes(address: string): boolean {
    // A zone index is no part of the address.
    const plain = address.split('%')[0]!
    const family = isIP(plain)
    const name = family === 4 ? 'ipv4' : 'ipv6'
    return this.#ranges.some((range) => range.family === family && range.list.check(plain, name))
  }
}

const notPublicAddresses = new AddressRanges(notPublic)
// All that is given out as public so far. Anything else may lead into a network that uses it for itself.
const publicIpv6 = new AddressRanges(['2000::/3'])

/** Whether an address is on the public internet. */
export function isPublicAddress(address: string): boolean {
  const isInUse = isIP(address.split('%')[0]!) === 4 || publicIpv6.includes(address)
  return isInUse && !notPublicAddresses.includes(address)
}
