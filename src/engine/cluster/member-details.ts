import type { Protocol } from './protocol-version.js'

/** What a heartbeat says about its instance. */
export interface MemberDetails {
  /** Whether it gets shards. */
  readonly isFiring: boolean
  /** Tells two processes with one member id apart; empty in heartbeats of older versions. */
  readonly life: string
  /** Rises with every heartbeat; 0 in heartbeats of older versions. */
  readonly beat: number
  /** The address at which it can be asked directly. */
  readonly address?: string
  readonly protocol: Protocol
}

const silent: Protocol = Object.freeze({ version: 0, oldest: 0 })

/** Parses the details of a member. If they cannot be read, the member gets no shards. */
export function parseMemberDetails(text: string): MemberDetails {
  try {
    const { isFiring, life, beat, address, protocol } = JSON.parse(text) as Readonly<Record<string, unknown>>
    return {
      isFiring: isFiring === true,
      life: typeof life === 'string' ? life : '',
      beat: typeof beat === 'number' ? beat : 0,
      ...(typeof address === 'string' && { address }),
      protocol: isProtocol(protocol) ? protocol : silent,
    }
  } catch {
    // Not written by Carillon.
    return { isFiring: false, life: '', beat: 0, protocol: silent }
  }
}

function isProtocol(given: unknown): given is Protocol {
  if (typeof given !== 'object' || given === null) return false
  const { version, oldest } = given as Readonly<Record<string, unknown>>
  return Number.isInteger(version) && Number.isInteger(oldest)
}
