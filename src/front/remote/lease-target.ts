import type { Client } from '../../client/index.js'
import { CarillonError, StateError } from '../../error/index.js'
import {
  defaultRetry,
  isSameRetry,
  parseRetry,
  type RetryOptions,
  type RetryPolicy,
} from '../../timer/index.js'

/**
 * Gives a kind the target `lease` on the server, with the retry policy of the kind. A target of another type is not
 * replaced but refused, because others receive those timers. If the API key may not set targets, an existing lease
 * target is used as it is.
 */
export async function prepareLease(client: Client, kind: string, retry: RetryPolicy): Promise<void> {
  const current = await client.getTarget(kind)
  if (current !== undefined && current.type !== 'lease') {
    throw new StateError(
      'handler-exists',
      `kind ${JSON.stringify(kind)} has a ${current.type} target on the server: remove that target first`,
    )
  }
  if (current !== undefined && (retry === defaultRetry || isSameRetry(parseRetry(current.retry), retry)))
    return
  const { kind: _kind, version: _version, ...kept } = current ?? { kind, version: 0, type: 'lease' }
  try {
    await client.setTarget(kind, { ...kept, ...(retry !== defaultRetry && { retry: optionsOf(retry) }) })
  } catch (error) {
    const isForbidden = error instanceof CarillonError && error.code === 'forbidden'
    if (!isForbidden || current === undefined) throw error
  }
}

function optionsOf({ attempts, minMs, maxMs, maxDurationMs, isCutByNext }: RetryPolicy): RetryOptions {
  return {
    attempts,
    ...(!isCutByNext && { backoff: `${minMs}ms..${maxMs}ms` }),
    ...(maxDurationMs !== Infinity && { maxDuration: maxDurationMs }),
  }
}
