import type { Client } from '../../client/index.js'
import { CarillonError, StateError } from '../../error/index.js'
import { defaultRetry, parseRetry, type RetryOptions, type RetryPolicy } from '../../timer/index.js'

/**
 * Has the server keep the timers of a kind for workers, with the retry policy of the kind. A target of another type is
 * left alone and refused: somebody else gets those timers. Where this key may not set targets, what stands is used.
 */
export async function prepareLease(client: Client, kind: string, retry: RetryPolicy): Promise<void> {
  const standing = await client.getTarget(kind)
  if (standing !== undefined && standing.type !== 'lease') {
    throw new StateError(
      'handler-exists',
      `the server has timers of the kind ${JSON.stringify(kind)} go to a ${standing.type}: remove that target first`,
    )
  }
  if (standing !== undefined && (retry === defaultRetry || isSame(parseRetry(standing.retry), retry))) return
  const { kind: _kind, version: _version, ...kept } = standing ?? { kind, version: 0, type: 'lease' }
  try {
    await client.setTarget(kind, { ...kept, ...(retry !== defaultRetry && { retry: optionsOf(retry) }) })
  } catch (error) {
    const isForbidden = error instanceof CarillonError && error.code === 'forbidden'
    if (!isForbidden || standing === undefined) throw error
  }
}

function isSame(a: RetryPolicy, b: RetryPolicy): boolean {
  return (
    a.attempts === b.attempts &&
    a.minMs === b.minMs &&
    a.maxMs === b.maxMs &&
    a.maxDurationMs === b.maxDurationMs
  )
}

function optionsOf({ attempts, minMs, maxMs, maxDurationMs }: RetryPolicy): RetryOptions {
  return {
    attempts,
    backoff: `${minMs}ms..${maxMs}ms`,
    ...(maxDurationMs !== Infinity && { maxDuration: maxDurationMs }),
  }
}
