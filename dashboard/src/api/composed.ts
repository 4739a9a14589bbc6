import { parseDuration } from '../../../src/time/duration.ts'
import { type Api, codeOf, timerPath } from './calls.ts'
import type { Cluster, Forecast, Overview, Page, Preview, ScheduleRow, Shard, Timer } from './types.ts'

/**
 * Answers that the page composes itself where the server has no single route for them. A server that has the route is
 * asked with one request.
 */
const missing = new Set<string>()

export async function composedUnless<Answer>(
  route: string,
  ask: () => Promise<Answer>,
  compose: () => Promise<Answer>,
  /** How a server refuses that lacks it, if it does not lack the whole route. */
  refusal = 'route-unknown',
): Promise<Answer> {
  if (missing.has(route)) return await compose()
  try {
    return await ask()
  } catch (error) {
    const code = codeOf(error)
    if (code !== 'route-unknown' && code !== 'method-unknown' && code !== refusal) throw error
    missing.add(route)
    return await compose()
  }
}

interface Slices {
  readonly slices: readonly {
    readonly fromInclusive: number
    readonly untilExclusive: number
    readonly count: number
  }[]
}

const MOST_KINDS = 8

/** The forecast of the largest kinds, and of all others together. */
export async function forecastOf(
  api: Api,
  over: string,
  slice: string,
  signal: AbortSignal,
): Promise<Forecast> {
  return await composedUnless<Forecast>(
    'forecast by kind',
    async () => await api.get('/v1/forecast/kinds', { over, slice }, signal),
    async () => {
      const { kinds, at } = await api.get<Overview>('/v1/overview', {}, signal)
      const largest = kinds.toSorted((a, b) => b.pending - a.pending).slice(0, MOST_KINDS)
      // One beginning for all, so that the slices of the kinds fall together.
      const query = { over, slice, from: sliceStart(at, slice) }
      const [all, ...ofKinds] = await Promise.all([
        api.get<Slices>('/v1/forecast', query, signal),
        ...largest.map(({ kind }) => api.get<Slices>('/v1/forecast', { ...query, kind }, signal)),
      ])
      const counts = ofKinds.map(({ slices }) => slices.map(({ count }) => count))
      const first = all.slices[0]
      return {
        fromInclusive: first?.fromInclusive ?? at,
        sliceMs: first === undefined ? 1 : first.untilExclusive - first.fromInclusive,
        overdue: Object.fromEntries(
          kinds.filter(({ overdue }) => overdue > 0).map(({ kind, overdue }) => [kind, overdue]),
        ),
        kinds: largest
          .map(({ kind }, index) => ({ kind, counts: counts[index] ?? [] }))
          .filter(({ counts: ofKind }) => ofKind.some((count) => count > 0)),
        others: all.slices.map(({ count }, step) =>
          Math.max(
            0,
            counts.reduce((rest, ofKind) => rest - (ofKind[step] ?? 0), count),
          ),
        ),
      }
    },
  )
}

/** The beginning of the slice that an instant is in: a full minute, half hour or day of the viewer. */
function sliceStart(at: number, slice: string): number {
  const ms = parseDuration(slice)
  const shiftMs = new Date(at).getTimezoneOffset() * 60_000
  return Math.floor((at - shiftMs) / ms) * ms + shiftMs
}

/** Recurring timers with their schedules in words. */
export async function schedulesOf(
  api: Api,
  query: Readonly<Record<string, string | number | undefined>>,
  signal: AbortSignal,
): Promise<Page<ScheduleRow>> {
  return await composedUnless<Page<ScheduleRow>>(
    'schedules',
    async () => await api.get('/v1/schedules', query, signal),
    async () => {
      const { items, cursor } = await api.get<Page<Timer>>(
        '/v1/timers',
        { ...query, recurring: true },
        signal,
      )
      const recurring = items.filter((timer) => timer.on !== undefined)
      const rows = await Promise.all(recurring.map((timer) => scheduleRowOf(api, timer, signal)))
      return { items: rows, ...(cursor !== undefined && { cursor }) }
    },
  )
}

async function scheduleRowOf(api: Api, timer: Timer, signal: AbortSignal): Promise<ScheduleRow> {
  const { kind, key, handle, revision, occurrence, state, attempts, pause } = timer
  const on = timer.on!
  const { description } = await api.send<Preview>(
    'POST',
    '/v1/schedules/preview',
    { on, count: 1 },
    { signal },
  )
  return {
    kind,
    key,
    handle,
    revision,
    on,
    description,
    occurrence,
    state,
    attempts,
    ...(on.zone !== undefined && { zone: on.zone }),
    ...(pause !== undefined && { pause }),
    nextAt: timer.dueAt,
    lastOutcomes: [],
  }
}

/** The instances and shards, as far as the heartbeats and the shard rows tell. */
export async function clusterOf(
  api: Api,
  server: Pick<Cluster, 'store' | 'strategy'>,
  signal: AbortSignal,
): Promise<Cluster> {
  return await composedUnless<Cluster>(
    'cluster',
    async () => await api.get('/v1/cluster', {}, signal),
    async () => {
      const [{ self, members }, { shards }] = await Promise.all([
        api.get<{ self: string; members: readonly string[] }>('/v1/members', {}, signal),
        api.get<{ shards: readonly Omit<Shard, 'isOwned' | 'inboxBusy'>[] }>('/v1/shards', {}, signal),
      ])
      const at = Date.now()
      const owned = shards.map((shard) =>
        Object.assign({}, shard, { isOwned: shard.owner !== '' && shard.leaseUntil > at, inboxBusy: false }),
      )
      return {
        self,
        at,
        store: server.store,
        strategy: server.strategy,
        shards: owned,
        members: members.map((id) => ({
          id,
          shards: owned.filter(({ owner }) => owner === id).map(({ shard }) => shard),
          state: 'ready' as const,
          faults: [],
        })),
      }
    },
  )
}

/** Fires a recurring timer once more, under a key beside it. Its schedule is not touched. */
export async function runOnce(api: Api, kind: string, key: string): Promise<void> {
  await composedUnless<unknown>(
    'run',
    async () => await api.send('POST', timerPath(kind, key, '/run')),
    async () => {
      const { payload, tags } = await api.get<Timer>(timerPath(kind, key))
      const beside = `${key.slice(0, 480)}~run-${crypto.getRandomValues(new Uint32Array(1))[0]!.toString(36)}`
      const body = { in: 0, tags, ifAbsent: true, ...(payload !== undefined && { payload }) }
      await api.send('PUT', timerPath(kind, beside), body)
    },
  )
}

/** Replaces the payload and the tags of a timer, and nothing else. */
export async function changeContent(
  api: Api,
  timer: Timer,
  content: { readonly payload?: unknown; readonly tags: readonly string[] },
): Promise<void> {
  const { kind, key, revision, on, dueAt } = timer
  const headers = { 'if-match': `"${revision}"` }
  await composedUnless<unknown>(
    'patch',
    async () =>
      await api.send(
        'PATCH',
        timerPath(kind, key),
        { payload: content.payload ?? null, tags: content.tags },
        { headers },
      ),
    async () => {
      const when = on === undefined ? { at: dueAt } : { on }
      await api.send('PUT', timerPath(kind, key), { ...when, ...content }, { headers })
    },
  )
}
