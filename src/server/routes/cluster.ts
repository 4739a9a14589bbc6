import { Type } from '@sinclair/typebox'
import type { Timers } from '../../front/index.js'
import type { ShardRow, Store } from '../../store/index.js'
import { type Route, route } from '../http/route.js'
import { EpochMs } from '../http/schema/schema.js'
import type { ClusterViews } from '../views/cluster-views.js'
import type { InstanceHere } from '../views/instance-here.js'

const load = {
  inMemory: Type.Integer({ description: 'Timers in memory.' }),
  inFlight: Type.Integer({ description: 'Attempts that run now.' }),
}

const MemberBody = Type.Object({
  id: Type.String(),
  isAnswering: Type.Boolean({ description: 'It has answered this request itself.' }),
  state: Type.Union([Type.Literal('ready'), Type.Literal('not-ready'), Type.Literal('unreached')]),
  faults: Type.Array(Type.String(), { description: 'Why it is not ready.' }),
  version: Type.Optional(Type.String()),
  host: Type.Optional(Type.String()),
  upSince: Type.Optional(EpochMs),
  clockOffsetMs: Type.Optional(Type.Number({ description: "How far its clock is ahead of the store's." })),
  memoryBytes: Type.Optional(Type.Integer()),
  shards: Type.Array(Type.Integer(), { description: 'The shards that it owns.' }),
  inMemory: Type.Optional(load.inMemory),
  inFlight: Type.Optional(load.inFlight),
})

const ShardBody = Type.Object({
  shard: Type.Integer(),
  owner: Type.String(),
  isOwned: Type.Boolean({ description: 'False if no instance fires its timers.' }),
  epoch: Type.Integer(),
  leaseUntil: EpochMs,
  readPosition: EpochMs,
  settledPosition: EpochMs,
  hasRequests: Type.Boolean({ description: 'Requests of other instances wait in its inbox.' }),
  inMemory: Type.Optional(load.inMemory),
  inFlight: Type.Optional(load.inFlight),
  queued: Type.Optional(Type.Integer({ description: 'Operations that wait to be written.' })),
  windowMs: Type.Optional(Type.Number({ description: 'How far ahead its timers are loaded.' })),
  behindMs: Type.Optional(Type.Number({ description: 'How far loading is behind.' })),
})

const noShards: readonly number[] = []

/** The instances and the shards, with what each instance says of itself. */
export function clusterRoutes(timers: Timers, store: Store, views: ClusterViews): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/cluster',
      scope: 'read',
      spansNamespaces: true,
      group: 'Monitoring',
      summary: 'The instances and the shards of the store, with what each instance says of itself.',
      description:
        'Instances that cannot be asked directly, or do not answer within a second, are `unreached`.',
      answer: Type.Object({
        self: Type.String(),
        at: EpochMs,
        members: Type.Array(MemberBody),
        shards: Type.Array(ShardBody, { description: 'Empty with the strategy claim.' }),
      }),
      handle: async ({ limits }) => {
        const [{ answers }, rows, busy] = await Promise.all([
          views.all('instance', {}),
          timers.bounded(limits, () => store.shards()),
          timers.bounded(limits, async () => (store.mode === 'claim' ? noShards : await store.busyInboxes())),
        ])
        const { engine } = timers
        const at = engine.storeNow()
        const answerOf = new Map(answers.map(({ member, answer }) => [member, answer]))
        const ids = new Set([engine.memberId, ...engine.memberIds])
        const ownedBy = (id: string): number[] =>
          rows.filter(({ owner }) => owner === id).map(({ shard }) => shard)
        const members = [...ids]
          .toSorted()
          .map((id) => memberOf(id, id === engine.memberId, ownedBy(id), answerOf.get(id)))
        const shards = rows.map((row) => shardOf(row, at, busy, answerOf.get(row.owner)))
        return { self: engine.memberId, at, members, shards }
      },
    }),
  ]
}

function memberOf(
  id: string,
  isAnswering: boolean,
  owned: readonly number[],
  said: InstanceHere | undefined,
): object {
  if (said === undefined) return { id, isAnswering, shards: owned, state: 'unreached', faults: [] }
  const { shards, ...facts } = said
  return {
    id,
    isAnswering,
    ...facts,
    state: said.faults.length === 0 ? 'ready' : 'not-ready',
    inMemory: shards.reduce((sum, { inMemory }) => sum + inMemory, 0),
    inFlight: shards.reduce((sum, { inFlight }) => sum + inFlight, 0),
    shards: owned,
  }
}

function shardOf(
  { shard, owner, epoch, leaseUntil, readLevel, settledLevel }: ShardRow,
  now: number,
  busy: readonly number[],
  said: InstanceHere | undefined,
): object {
  return {
    ...said?.shards.find((each) => each.shard === shard),
    shard,
    owner,
    isOwned: owner !== '' && leaseUntil > now,
    epoch,
    leaseUntil,
    readPosition: readLevel.position,
    settledPosition: settledLevel.position,
    hasRequests: busy.includes(shard),
  }
}
