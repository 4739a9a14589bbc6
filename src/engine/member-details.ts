import type { Protocol } from './protocol.js'

/** What an instance tells the others with its heartbeat. */
export interface MemberDetails {
  /** Whether it takes a share of the shards. */
  readonly isFiring: boolean
  /** Where it can be asked directly. */
  readonly address?: string
  readonly protocol: Protocol
}

const silent: Protocol = Object.freeze({ version: 0, oldest: 0 })

/** What a member says of itself; of one that says nothing that can be read, nothing is expected. */
export function parseMemberDetails(text: string): MemberDetails {
  try {
    const { isFiring, address, protocol } = JSON.parse(text) as Readonly<Record<string, unknown>>
    return {
      isFiring: isFiring === true,
      ...(typeof address === 'string' && { address }),
      protocol: isProtocol(protocol) ? protocol : silent,
    }
  } catch {
    // Not one of ours.
    return { isFiring: false, protocol: silent }
  }
}

function isProtocol(given: unknown): given is Protocol {
  if (typeof given !== 'object' || given === null) return false
  const { version, oldest } = given as Readonly<Record<string, unknown>>
  return Number.isInteger(version) && Number.isInteger(oldest)
}
