/** A body for each route that takes one, by method and path. test/server/api-document.test.ts checks them. */
export const exampleBodies: Readonly<Record<string, unknown>> = Object.freeze({
  'PUT /v1/timers/{kind}/{key}': {
    in: '30m',
    payload: { orderId: 7 },
    tags: ['vip'],
    retry: { attempts: 5, backoff: '1s..1m' },
  },
  'PATCH /v1/timers/{kind}/{key}': { payload: { orderId: 8 }, tags: ['vip', 'late'] },
  'POST /v1/timers/{kind}': {
    on: { type: 'daily', at: '09:00', zone: 'Europe/Paris' },
    payload: { report: 1 },
  },
  'POST /v1/timers/{kind}/{key}/move': { in: '1h' },
  'POST /v1/handles/{handle}/move': { at: '2027-01-31T09:00:00Z' },
  'POST /v1/batch': [
    { kind: 'remind', key: 'order-8', in: '1h', payload: { orderId: 8 } },
    { do: 'move', kind: 'remind', key: 'order-7', in: '2h' },
    { do: 'cancel', kind: 'remind', key: 'order-6' },
  ],
  'POST /v1/bulk/cancel': { filter: { kind: 'remind', tag: 'vip' }, dryRun: true },
  'POST /v1/bulk/move': { filter: { kind: 'remind', dueUntil: '2027-01-31T09:00:00Z' }, in: '1h' },
  'POST /v1/jobs': { action: 'cancel', filter: { kind: 'remind', tag: 'vip' }, perSecond: 100 },
  'POST /v1/schedules/preview': { on: '0 9 * * MON', count: 3 },
  'POST /v1/dead/redrive': { kind: 'remind' },
  'PUT /v1/targets/{kind}': { type: 'lease', duration: '1m', retry: { attempts: 5 } },
  'POST /v1/leases': { kinds: ['remind'], max: 10, waitMs: 20_000 },
  'POST /v1/leases/{receipt}/ack': { again: { in: '5m' } },
  'POST /v1/leases/{receipt}/extend': { duration: '1m' },
  'POST /v1/leases/{receipt}/release': { in: '10s', reason: 'the printer is busy' },
  'POST /v1/leases/batch': [
    { do: 'ack', receipt: '3.1.k7dPq' },
    { do: 'extend', receipt: '3.2.x0aZm', duration: '1m' },
  ],
  'POST /v1/timers/{kind}/{key}/pause': { note: 'the customer asked for it' },
  'POST /v1/pause': { kind: 'remind', note: 'the printer is on fire' },
  'POST /v1/resume': { kind: 'remind' },
  'PUT /v1/quota': { maxTimers: 100_000 },
  'POST /v1/keys': { name: 'reports', scope: 'write', namespace: 'shop', expiresIn: '90d' },
})

/** Values for the parameters of a path, in commands that can be copied. */
const parameters: Readonly<Record<string, string>> = Object.freeze({
  kind: 'remind',
  key: 'order-7',
  handle: 't1.…',
  receipt: '3.1.k7dPq',
  id: '0123456789ab',
})

/** A command that sends a request to a route. */
export function curlOf(method: string, path: string): string {
  const url = path.replace(/\{(\w+)\}/g, (_, name: string) => parameters[name] ?? name)
  const body = exampleBodies[`${method} ${path}`]
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}http://127.0.0.1:7750${url}`,
    "-H 'Authorization: Bearer ck_…'",
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body)}'`]),
  ].join(' \\\n  ')
}
