import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../eventually.js'
import { startPair } from '../server-pair.js'
import type { TestServer } from '../test-server.js'

let pair: Awaited<ReturnType<typeof startPair>>

beforeAll(async () => {
  pair = await startPair()
})

afterAll(() => pair[Symbol.asyncDispose]())

// oxlint-disable-next-line typescript/no-explicit-any -- tests read any field of an answer
type Body = any

async function overviewAt(server: TestServer): Promise<Body> {
  const { status, body } = await server.call('GET', '/v1/overview')
  expect(status).toBe(200)
  return body
}

function kindOf(overview: Body, kind: string): Body {
  return overview.kinds.find((each: Body) => each.kind === kind)
}

describe('the overview of two instances', () => {
  it('adds up what each of them has, whichever is asked', async () => {
    const { owner, other } = pair
    await owner.call('POST', '/v1/pause', { kind: 'halted' })
    // Due timers of 8 shards: both instances own some.
    for (let n = 0; n < 40; n++) await owner.call('PUT', `/v1/timers/stuck/${n}`, { in: 0 })
    for (let n = 0; n < 10; n++) await other.call('PUT', `/v1/timers/later/${n}`, { in: '1h' })
    const hereOf = async (server: TestServer): Promise<number> => {
      const { text } = await server.call('GET', '/metrics')
      return Number(/carillon_kind_waiting\{namespace="default",kind="stuck"\} (\d+)/.exec(text)?.[1] ?? 0)
    }
    await eventually(async () => {
      const each = [await hereOf(owner), await hereOf(other)]
      expect(each[0]! + each[1]!).toBe(40)
      expect(Math.min(...each)).toBeGreaterThan(0)
    })
    for (const server of [owner, other])
      await eventually(async () => {
        const overview = await overviewAt(server)
        expect(overview.instances).toEqual({ known: 2, answered: 2 })
        expect(kindOf(overview, 'stuck')).toMatchObject({ pending: 40, waiting: 40, handledBy: [] })
        expect(kindOf(overview, 'later')).toMatchObject({ pending: 10, waiting: 0, overdue: 0 })
        expect(kindOf(overview, 'stuck').oldestDueAt).toBeLessThan(overview.at)
        expect(overview.totals.pending).toBeGreaterThanOrEqual(50)
        // The sets went through both.
        expect(kindOf(overview, 'stuck').perSecond.set).toBeCloseTo(40 / 60)
        expect(kindOf(overview, 'later').perSecond.set).toBeCloseTo(10 / 60)
      })
  })

  it('says who handles a kind, and where its timers go', async () => {
    const { owner, other } = pair
    await owner.call('PUT', '/v1/timers/goes/1', { in: '1h' })
    await owner.call('PUT', '/v1/targets/goes', { type: 'log' })
    const members = (await other.call('GET', '/v1/members')).body.members as string[]
    await eventually(async () => {
      const kind = kindOf(await overviewAt(other), 'goes')
      expect(kind.target).toEqual({ type: 'log', version: expect.any(Number) })
      expect(kind.handledBy).toEqual(members)
    })
  })

  it('says why a kind is paused, since when and by whom', async () => {
    const { owner, other } = pair
    await other.call('PUT', '/v1/timers/halted/1', { in: '1h' })
    const before = Date.now() - 1000
    await owner.call('POST', '/v1/pause', { kind: 'halted', note: 'the printer is on fire' })
    await eventually(async () => {
      const { pause } = kindOf(await overviewAt(other), 'halted')
      expect(pause).toEqual({
        note: 'the printer is on fire',
        by: 'nobody in particular',
        since: expect.any(Number),
      })
      expect(pause.since).toBeGreaterThan(before)
    })
    const { body } = await other.call('GET', '/v1/pauses')
    expect(body.ofKinds).toEqual([{ kind: 'halted', ...kindOf(await overviewAt(other), 'halted').pause }])
    await owner.call('POST', '/v1/resume', { kind: 'halted' })
    await eventually(async () => expect(kindOf(await overviewAt(other), 'halted').pause).toBeUndefined())
  })

  it('shows a paused timer with its note, and the series of both instances', async () => {
    const { owner, other } = pair
    await owner.call('PUT', '/v1/timers/later/noted', { in: '1h' })
    const paused = await other.call('POST', '/v1/timers/later/noted/pause', { note: 'asked for' })
    expect(paused.body).toEqual({ outcome: 'paused' })
    const { body } = await owner.call('GET', '/v1/timers/later/noted')
    expect([body.state, body.pause.note]).toEqual(['paused', 'asked for'])
    await eventually(async () => {
      const overview = await overviewAt(owner)
      expect(kindOf(overview, 'later')).toMatchObject({ pending: 11, paused: 1 })
    })
    await owner.call('POST', '/v1/timers/later/noted/resume')
    expect((await owner.call('GET', '/v1/timers/later/noted')).body.pause).toBeUndefined()
    for (const server of [owner, other]) {
      const series = (await server.call('GET', '/v1/series?kind=goes')).body
      expect(series.instances).toEqual({ known: 2, answered: 2 })
      expect(series.points).toHaveLength(360)
      expect(series.points.reduce((sum: number, { set }: Body) => sum + set, 0)).toBe(1)
    }
  })

  it('counts attempts, failures and lateness in the series, at the instance where they ran', async () => {
    const { owner, other } = pair
    await owner.call('PUT', '/v1/targets/ring', { type: 'log' })
    await eventually(async () => {
      const { body } = await other.call('GET', '/v1/overview')
      expect(kindOf(body, 'ring').handledBy).toHaveLength(2)
    })
    for (let n = 0; n < 30; n++) await owner.call('PUT', `/v1/timers/ring/${n}`, { in: 0 })
    await eventually(async () => {
      for (const path of ['/v1/series?kind=ring', '/v1/series?kind=ring&over=1d']) {
        const { points } = (await other.call('GET', path)).body
        const sum = (name: string): number => points.reduce((all: number, each: Body) => all + each[name], 0)
        expect([sum('set'), sum('fired'), sum('done'), sum('failed')]).toEqual([30, 30, 30, 0])
        const fired = points.find((each: Body) => each.fired > 0)
        expect(fired.p50Ms).toBeGreaterThan(0)
        expect(fired.p99Ms).toBeGreaterThanOrEqual(fired.p50Ms)
      }
    })
    const kind = kindOf(await overviewAt(other), 'ring')
    expect(kind.perSecond.done).toBeCloseTo(0.5)
    expect(kind.lateness.p99Ms).toBeGreaterThan(0)
  })
})

describe('the cluster of two instances', () => {
  it('shows what each instance says of itself, and every shard with its owner', async () => {
    const { owner, other } = pair
    for (const server of [owner, other])
      await eventually(async () => {
        const { status, body } = await server.call('GET', '/v1/cluster')
        expect(status).toBe(200)
        const { members, shards } = body as { members: Body[]; shards: Body[] }
        expect(members.map(({ state }) => state)).toEqual(['ready', 'ready'])
        expect(members.filter(({ isAnswering }) => isAnswering).map(({ id }) => id)).toEqual([body.self])
        for (const { version, host, memoryBytes, upSince } of members) {
          expect([version, host]).toEqual([expect.any(String), expect.any(String)])
          expect(memoryBytes).toBeGreaterThan(1e6)
          expect(upSince).toBeLessThanOrEqual(Date.now())
        }
        expect(shards).toHaveLength(8)
        expect(members.flatMap((member) => member.shards as number[]).toSorted((a, b) => a - b)).toEqual([
          0, 1, 2, 3, 4, 5, 6, 7,
        ])
        for (const shard of shards)
          expect(shard).toMatchObject({ isOwned: true, inMemory: expect.any(Number) })
      })
  })
})
