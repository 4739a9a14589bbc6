import { RequestError } from '../../error/index.js'

type ChangeOutcome =
  'moved' | 'cancelled' | 'ending' | 'paused' | 'resumed' | 'firing' | 'settled' | 'unknown' | 'conflict'

/** The body that answers a change. Throws the matching problem if nothing was changed. */
export function outcomeAnswer(
  outcome: ChangeOutcome,
  { kind, key }: { readonly kind: string; readonly key: string },
): { readonly outcome: ChangeOutcome } {
  const which = `${kind} ${JSON.stringify(key)}`
  switch (outcome) {
    case 'firing':
      throw new RequestError('timer-firing', `an attempt at ${which} is running`)
    case 'settled':
      throw new RequestError('timer-settled', `timer ${which} has already finished`)
    case 'unknown':
      throw new RequestError('timer-unknown', `no timer ${which}`)
    case 'conflict':
      throw new RequestError('revision-conflict', `timer ${which} is at another revision`)
    case 'moved':
    case 'cancelled':
    case 'ending':
    case 'paused':
    case 'resumed':
      return { outcome }
  }
}
