import { RequestError } from '../error/index.js'

type Word = 'moved' | 'cancelled' | 'paused' | 'resumed' | 'firing' | 'settled' | 'unknown' | 'conflict'

/** What a change is answered with; a problem where nothing was changed. */
export function outcomeAnswer(
  outcome: Word,
  { kind, key }: { readonly kind: string; readonly key: string },
): { readonly outcome: Word } {
  const which = `${kind} ${JSON.stringify(key)}`
  switch (outcome) {
    case 'firing':
      throw new RequestError('timer-firing', `an attempt at ${which} is under way`)
    case 'settled':
      throw new RequestError('timer-settled', `the timer ${which} is over`)
    case 'unknown':
      throw new RequestError('timer-unknown', `there is no timer ${which}`)
    case 'conflict':
      throw new RequestError('revision-conflict', `the timer ${which} does not stand at that revision`)
    case 'moved':
    case 'cancelled':
    case 'paused':
    case 'resumed':
      return { outcome }
  }
}
