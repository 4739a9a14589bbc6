import { KindFilter } from './kind-filter.js'
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
  /** The kinds of due timers that may be offered to it. */
  readonly kinds: KindFilter
  /** Rises after each gap in its heartbeats: offers of an earlier term no longer count. */
  readonly term: number
}

const silent: Protocol = Object.freeze({ version: 0, oldest: 0 })

/** The details as the store keeps them. */
export function formatMemberDetails({ kinds, ...details }: MemberDetails): string {
  return JSON.stringify({ ...details, kinds: kinds.text })
}

/** Parses the details of a member. If they cannot be read, the member gets no shards. */
export function parseMemberDetails(text: string): MemberDetails {
  try {
    const details = JSON.parse(text) as Readonly<Record<string, unknown>>
    const { isFiring, life, beat, address, protocol, kinds, term } = details
    return {
      isFiring: isFiring === true,
      life: typeof life === 'string' ? life : '',
      beat: typeof beat === 'number' ? beat : 0,
      ...(typeof address === 'string' && { address }),
      protocol: isProtocol(protocol) ? protocol : silent,
      kinds: KindFilter.parse(kinds),
      term: typeof term === 'number' ? term : 0,
    }
  } catch {
    // Not written by Carillon.
    return { isFiring: false, life: '', beat: 0, protocol: silent, kinds: KindFilter.none, term: 0 }
  }
}

function isProtocol(given: unknown): given is Protocol {
  if (typeof given !== 'object' || given === null) return false
  const { version, oldest } = given as Readonly<Record<string, unknown>>
  return Number.isInteger(version) && Number.isInteger(oldest)
}
