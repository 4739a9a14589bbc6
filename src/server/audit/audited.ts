import { CarillonError } from '../../error/index.js'
import { problemOf } from '../http/problem.js'
import type { Call, Route } from '../http/route.js'
import type { AuditEntry, AuditSubject } from './audit-entry.js'
import type { AuditLog } from './audit-log.js'

/**
 * Records each use of the routes that have `audit`. A request that was refused changed nothing, so it is not recorded. If
 * the record cannot be written, the change stays, and `onError` gets the error.
 */
export function audited(
  log: AuditLog,
  routes: readonly Route[],
  onError: (error: unknown) => void,
): readonly Route[] {
  return routes.map((route) => {
    const { audit } = route
    if (audit === undefined) return route
    const record = async (
      call: Call<unknown, unknown, unknown>,
      outcome: AuditEntry['outcome'],
      answer: unknown,
    ): Promise<void> => {
      try {
        const entry = entryOf(call, audit.action, outcome, audit.describe?.(call, answer) ?? {})
        await call.timers.bounded(call.limits, () => log.record(entry))
      } catch (error) {
        onError(error)
      }
    }
    return {
      ...route,
      handle: async (call: Call<unknown, unknown, unknown>) => {
        let answer: unknown
        try {
          answer = await route.handle(call)
        } catch (error) {
          const isUncertain = error instanceof CarillonError && problemOf(error).status >= 500
          if (isUncertain) await record(call, error.code, undefined)
          throw error
        }
        await record(call, 'done', answer)
        return answer
      },
    }
  })
}

function entryOf(
  { admission, request }: Call<unknown, unknown, unknown>,
  action: string,
  outcome: AuditEntry['outcome'],
  { subject, namespace = admission.namespace, details = {} }: AuditSubject,
): Omit<AuditEntry, 'id' | 'at'> {
  const known = Object.entries(details).filter((entry): entry is [string, string | number | boolean] => {
    return entry[1] !== undefined
  })
  const forwardedFor = request.headers['x-forwarded-for']
  return {
    action,
    outcome,
    ...(subject !== undefined && { subject }),
    ...(namespace !== null && { namespace }),
    ...(known.length > 0 && { details: Object.fromEntries(known) }),
    key: { id: admission.key.id, name: admission.key.name },
    from: request.ip,
    ...(forwardedFor !== undefined && { forwardedFor: String(forwardedFor) }),
    requestId: request.id,
  }
}
