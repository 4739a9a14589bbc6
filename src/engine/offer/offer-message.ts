import type { TimerName } from '../../timer/index.js'

/** A row that an owner has offered to a member. */
export interface OfferedRow extends TimerName {
  /** Names the offer. The row carries it as long as the offer is open. */
  readonly token: string
}

/** The token of an offer: the settlement that made it, and the term of the process that it was made to. */
export function tokenOf(settlementId: number, term: number): string {
  return `${settlementId.toString(36)}.${term}`
}

export function termOf(token: string): number {
  return Number(token.slice(token.indexOf('.') + 1))
}

/** What one member writes to another: rows that it may start, or that the members have changed. */
export type OfferMessage =
  { readonly type: 'offers'; readonly rows: readonly OfferedRow[] } | { readonly type: 'members' }

export const membersChanged = JSON.stringify({ members: true })

export function formatOffers(rows: readonly OfferedRow[]): string {
  return JSON.stringify({
    offers: rows.map(({ namespace, kind, key, token }) => [namespace, kind, key, token]),
  })
}

/** Reads a message; undefined if a version that this one does not know has written it. */
export function parseMessage(text: string): OfferMessage | undefined {
  const { offers, members } = JSON.parse(text) as {
    readonly offers?: readonly (readonly [string, string, string, string])[]
    readonly members?: boolean
  }
  if (members === true) return { type: 'members' }
  if (offers === undefined) return undefined
  return {
    type: 'offers',
    rows: offers.map(([namespace, kind, key, token]) => ({ namespace, kind, key, token })),
  }
}
