import { Type } from '@sinclair/typebox'
import type { CallOptions, Timers } from '../../front/index.js'
import type { Store } from '../../store/index.js'
import type { ApiKey } from '../api-keys.js'
import type { EventStreams } from '../monitor/event-streams.js'
import type { Deliveries } from '../monitor/delivery-metrics.js'
import type { Metrics } from '../monitor/metrics.js'
import type { StoreGauges } from '../monitor/store-gauges.js'
import type { QuotaLimits } from '../../timer/index.js'
import { MAX_VERIFY_MS, METRICS_STORE_MS } from '../defaults.js'
import type { Readiness } from '../monitor/readiness.js'
import { type Route, route } from '../http/route.js'
import { CauseBody, EpochMs } from '../http/schema/schema.js'
import { QuotaBody } from './admin.js'
import { sumOf, verifyStore } from '../monitor/verify-store.js'

const group = 'Monitoring'
// `src/front` stores each quota under `quota/<namespace, percent-encoded>`.
const QUOTAS = 'quota/'

const Counts = Type.Object({
  created: Type.Integer(),
  settled: Type.Integer(),
  cancelled: Type.Integer(),
  replaced: Type.Integer(),
  dead: Type.Integer(),
})

/** Statistics, shards, members, events and metrics. Most cover all namespaces, so they need a key for all. */
export function monitoringRoutes(parts: {
  readonly timers: Timers
  readonly store: Store
  readonly events: EventStreams
  readonly metrics: Metrics
  readonly storeGauges: StoreGauges
  /** Of the namespaces that are open here. */
  readonly deliveries: () => Deliveries
  readonly readiness: Readiness
  /** Every namespace of the store. */
  readonly namespaces: () => Promise<readonly { readonly namespace: string; readonly kinds: number }[]>
  /** Whether a key still counts: it was neither revoked nor has it expired. */
  readonly isKeyActive: (key: ApiKey) => boolean
  /** The timers of a namespace if it is open. */
  readonly openTimersOf: (namespace: string) => Timers | undefined
}): Route[] {
  const { timers, store, events, metrics, storeGauges, readiness, isKeyActive, openTimersOf } = parts
  // Reading a quota must not open its namespace, because their number is limited. A closed one has no count to show.
  const quotas = async (limits: CallOptions): Promise<object[]> =>
    (await timers.bounded(limits, () => store.settings(QUOTAS))).map(({ name, value }) => {
      const namespace = decodeURIComponent(name.slice(QUOTAS.length))
      const quota = openTimersOf(namespace)?.knownQuota ?? (JSON.parse(value) as QuotaLimits)
      return Object.assign({ namespace }, quota)
    })
  return [
    route({
      method: 'GET',
      path: '/v1/statistics',
      scope: 'read',
      spansNamespaces: true,
      group,
      summary: 'Counts of timers since the store was created, and what this instance did.',
      answer: Type.Object({
        memberId: Type.String(),
        strategy: Type.String(),
        pending: Type.Integer(),
        store: Counts,
        quotas: Type.Array(Type.Object({ namespace: Type.String(), ...QuotaBody.properties }), {
          description: 'The quotas of all namespaces, with the use that this instance has counted.',
        }),
        instance: Type.Record(Type.String(), Type.Number()),
        lateness: Type.Object({
          count: Type.Integer(),
          p50Ms: Type.Number(),
          p99Ms: Type.Number(),
        }),
      }),
      handle: async ({ limits }) => {
        const { memberId, strategy, pending, store: counts, counts: all } = await timers.stats(limits)
        const { lateness, ...instance } = all
        return {
          memberId,
          strategy,
          pending,
          store: counts,
          quotas: await quotas(limits),
          instance: { ...instance },
          lateness: {
            count: lateness.count,
            p50Ms: lateness.quantile(0.5),
            p99Ms: lateness.quantile(0.99),
          },
        }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/verify',
      scope: 'read',
      spansNamespaces: true,
      group,
      summary:
        'Count every row, shard by shard, and check: created = pending + settled + cancelled + replaced + dead.',
      answer: Type.Object({
        isWhole: Type.Boolean(),
        missing: Type.Integer({ description: 'Rows that the counters expect but that do not exist.' }),
        surplus: Type.Integer({ description: 'Rows that exist but that no counter expects.' }),
        rows: Type.Integer(),
        pending: Type.Integer(),
        store: Counts,
        broken: Type.Array(
          Type.Object({
            shard: Type.Optional(
              Type.Integer({ description: 'Absent if the store does not count by shard.' }),
            ),
            missing: Type.Integer({ description: 'Negative for rows that no counter expects.' }),
            rows: Type.Integer(),
            counts: Counts,
          }),
          { description: 'The shards whose rows and counters differ.' },
        ),
      }),
      handle: async ({ limits }) => {
        // Counting may take minutes, but a store that does not answer at all is noticed at once.
        await timers.bounded(limits, () => store.now())
        const counting = { ...limits, timeout: MAX_VERIFY_MS }
        const shards = await timers.bounded(counting, () => verifyStore(store))
        const { rows, counts } = sumOf(shards)
        const broken = shards.filter(({ missing }) => missing !== 0)
        return {
          isWhole: broken.length === 0,
          missing: broken.reduce((sum, { missing }) => sum + Math.max(0, missing), 0),
          surplus: broken.reduce((sum, { missing }) => sum + Math.max(0, -missing), 0),
          rows,
          pending: counts.created - counts.settled - counts.cancelled - counts.replaced - counts.dead,
          store: counts,
          broken,
        }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/diagnosis',
      scope: 'read',
      group,
      summary: 'Why due timers of the namespace do not fire, with what to do. Empty if nothing is found.',
      answer: Type.Object({ causes: Type.Array(CauseBody) }),
      handle: async ({ timers: ofNamespace, limits }) => ({ causes: await ofNamespace.diagnose(limits) }),
    }),
    route({
      method: 'GET',
      path: '/v1/shards',
      scope: 'read',
      spansNamespaces: true,
      group,
      summary: 'The shards of the store: the owner and the levels of each.',
      answer: Type.Object({
        shards: Type.Array(
          Type.Object({
            shard: Type.Integer(),
            owner: Type.String(),
            epoch: Type.Integer(),
            leaseUntil: EpochMs,
            readPosition: EpochMs,
            settledPosition: EpochMs,
          }),
        ),
      }),
      handle: async ({ limits }) => ({
        shards: (await timers.bounded(limits, () => store.shards())).map(
          ({ shard, owner, epoch, leaseUntil, readLevel, settledLevel }) => ({
            shard,
            owner,
            epoch,
            leaseUntil,
            readPosition: readLevel.position,
            settledPosition: settledLevel.position,
          }),
        ),
      }),
    }),
    route({
      method: 'GET',
      path: '/v1/members',
      scope: 'read',
      spansNamespaces: true,
      group,
      summary: 'The instances that fire timers of this store, as far as this one knows.',
      answer: Type.Object({ self: Type.String(), members: Type.Array(Type.String()) }),
      handle: () => ({ self: timers.engine.memberId, members: [...timers.engine.memberIds].toSorted() }),
    }),
    route({
      method: 'GET',
      path: '/v1/namespaces',
      scope: 'read',
      spansNamespaces: true,
      group,
      summary: 'The namespaces of the store: those with kinds or a quota.',
      answer: Type.Object({
        namespaces: Type.Array(
          Type.Object({
            namespace: Type.String(),
            kinds: Type.Integer({ description: 'How many kinds it has.' }),
          }),
        ),
      }),
      handle: async ({ limits }) => ({
        namespaces: [...(await timers.bounded(limits, () => parts.namespaces()))],
      }),
    }),
    route({
      method: 'GET',
      path: '/v1/events',
      scope: 'read',
      group,
      summary: 'Live events, as server-sent events.',
      description:
        'Events of the namespace. A key for all namespaces that selects none gets the events of all, and of the engine.',
      answer: Type.String(),
      answerType: 'text/event-stream',
      handle: ({ admission, request, reply }) => {
        const { key, namespace } = admission
        const isForAll = key.namespace === undefined && request.headers['carillon-namespace'] === undefined
        reply.type('text/event-stream').header('cache-control', 'no-store')
        const isActive = (): boolean => isKeyActive(key)
        return events.listen(isForAll ? undefined : namespace, { id: key.id, isActive })
      },
    }),
    route({
      method: 'GET',
      path: '/metrics',
      scope: 'read',
      spansNamespaces: true,
      group,
      summary: 'Metrics in the text format of Prometheus.',
      answer: Type.String(),
      answerType: 'text/plain',
      handle: async ({ reply, limits }) => {
        reply.type('text/plain; version=0.0.4; charset=utf-8')
        const inTime = { ...limits, timeout: METRICS_STORE_MS }
        const [stats, faults, storeLines] = await Promise.all([
          // The page must not be missing when it is needed most.
          timers.stats(inTime).catch(() => timers.engine.stats()),
          readiness.faults(),
          storeGauges.lines(inTime),
        ])
        return metrics.text(stats, faults.length === 0, { deliveries: parts.deliveries(), storeLines })
      },
    }),
  ]
}
