import { Type } from '@sinclair/typebox'
import type { Timers } from '../../front/index.js'
import type { Store } from '../../store/index.js'
import type { Events } from '../events.js'
import type { Metrics } from '../metrics.js'
import type { QuotaLimits } from '../../timer/index.js'
import { type Route, route } from '../route.js'
import { QuotaBody } from './steering.js'
import { sumOf, verified } from '../verification.js'

const group = 'Watching'
// As the front door writes them: the name of a namespace is encoded there.
const QUOTAS = 'quota/'

const Counts = Type.Object({
  created: Type.Integer(),
  settled: Type.Integer(),
  cancelled: Type.Integer(),
  replaced: Type.Integer(),
  dead: Type.Integer(),
})

/** How it goes: here, and in the store. Most of it concerns all namespaces, and so needs a key of all. */
export function watchingRoutes(parts: {
  readonly timers: Timers
  readonly store: Store
  readonly events: Events
  readonly metrics: Metrics
  /** The timers of a namespace if they are open. */
  readonly openedOf: (namespace: string) => Timers | undefined
}): Route[] {
  const { timers, store, events, metrics, openedOf } = parts
  // Only so many namespaces can be open: none is opened to be looked at, and nothing was counted in one that is not.
  const quotas = async (): Promise<object[]> =>
    (await store.settings(QUOTAS)).map(({ name, value }) => {
      const namespace = decodeURIComponent(name.slice(QUOTAS.length))
      const quota = openedOf(namespace)?.knownQuota ?? (JSON.parse(value) as QuotaLimits)
      return Object.assign({ namespace }, quota)
    })
  return [
    route({
      method: 'GET',
      path: '/v1/statistics',
      scope: 'read',
      spansNamespaces: true,
      group,
      summary: 'What became of timers since the store was made, and what this instance did.',
      answer: Type.Object({
        memberId: Type.String(),
        strategy: Type.String(),
        pending: Type.Integer(),
        store: Counts,
        quotas: Type.Array(Type.Object({ namespace: Type.String(), ...QuotaBody.properties }), {
          description: 'Of all namespaces that have one, as this instance has counted them so far.',
        }),
        instance: Type.Record(Type.String(), Type.Number()),
        lateness: Type.Object({
          count: Type.Integer(),
          p50Ms: Type.Number(),
          p99Ms: Type.Number(),
        }),
      }),
      handle: async () => {
        const { memberId, strategy, pending, store: counts, counts: all } = await timers.stats()
        const { lateness, ...instance } = all
        return {
          memberId,
          strategy,
          pending,
          store: counts,
          quotas: await quotas(),
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
        'Looks at every row, shard by shard: created = pending + settled + cancelled + replaced + dead.',
      answer: Type.Object({
        isWhole: Type.Boolean(),
        missing: Type.Integer({ description: 'Rows that the counters know of and that are not there.' }),
        surplus: Type.Integer({ description: 'Rows that are there and that no counter knows of.' }),
        rows: Type.Integer(),
        pending: Type.Integer(),
        store: Counts,
        broken: Type.Array(
          Type.Object({
            shard: Type.Optional(
              Type.Integer({ description: 'Absent where a store does not count by shard.' }),
            ),
            missing: Type.Integer({ description: 'Below zero for rows that no counter knows of.' }),
            rows: Type.Integer(),
            counts: Counts,
          }),
          { description: 'The shards that are not whole.' },
        ),
      }),
      handle: async () => {
        const shards = await verified(store)
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
      path: '/v1/shards',
      scope: 'read',
      spansNamespaces: true,
      group,
      summary: 'The shards of the store: who owns each, and how far it is.',
      answer: Type.Object({
        shards: Type.Array(
          Type.Object({
            shard: Type.Integer(),
            owner: Type.String(),
            epoch: Type.Integer(),
            leaseUntil: Type.Number(),
            readPosition: Type.Number(),
            settledPosition: Type.Number(),
          }),
        ),
      }),
      handle: async () => ({
        shards: (await store.shards()).map(
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
      summary: 'The instances that fire timers of this store, as this one knows them.',
      answer: Type.Object({ self: Type.String(), members: Type.Array(Type.String()) }),
      handle: () => ({ self: timers.engine.memberId, members: [...timers.engine.memberIds].toSorted() }),
    }),
    route({
      method: 'GET',
      path: '/v1/events',
      scope: 'read',
      group,
      summary: 'What happens, as it happens: server-sent events.',
      description: 'Of the namespace; a key of all namespaces hears of all, and of the shards.',
      answer: Type.String(),
      answerType: 'text/event-stream',
      handle: ({ admission, request, reply }) => {
        const { key, namespace } = admission
        const hearsAll = key.namespace === undefined && request.headers['carillon-namespace'] === undefined
        reply.type('text/event-stream').header('cache-control', 'no-store')
        return events.listen(hearsAll ? undefined : namespace)
      },
    }),
    route({
      method: 'GET',
      path: '/metrics',
      scope: 'read',
      spansNamespaces: true,
      group,
      summary: 'Metrics in the text form of Prometheus.',
      answer: Type.String(),
      answerType: 'text/plain',
      handle: async ({ reply }) => {
        reply.type('text/plain; version=0.0.4; charset=utf-8')
        return metrics.text(await timers.stats())
      },
    }),
  ]
}
