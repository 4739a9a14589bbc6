import { describe, expect, it } from 'vitest'
import { Client } from '../../src/client/index.js'
import { runCli } from '../cli/run-cli.js'
import { TestServer } from '../server/test-server.js'

describe('what an operator sees', () => {
  it('is the same through the client and on the command line', async () => {
    await using served = await TestServer.start({ auth: false })
    const client = new Client(served.url)
    await client.set('remind', 'a', { in: '1h' })
    await client.pause('remind', undefined, { note: 'the printer is on fire' })
    await client.pause('remind', 'a', { note: 'asked for' })
    const kind = (await client.operator.overview()).kinds.find((each) => each.kind === 'remind')
    expect(kind).toMatchObject({ pending: 1, paused: 1, pause: { note: 'the printer is on fire' } })
    expect((await client.get('remind', 'a'))?.pause?.note).toBe('asked for')
    const { points, stepMs } = await client.operator.series({ kind: 'remind', over: '1h' })
    expect([stepMs, points.length, points.reduce((sum, { set }) => sum + set, 0)]).toEqual([10_000, 360, 1])
    expect((await client.operator.deadGroups({ slices: 3 })).groups).toEqual([])
    const overview = await runCli(['overview', '--url', served.url])
    expect(overview.out).toContain('remind  1 pending, 1 paused; paused: the printer is on fire')
    expect(overview.out).toContain('1 of 1 instances answered')
    const series = await runCli(['series', 'remind', '--url', served.url])
    expect(series.out).toContain('1 set, 0 fired')
    const groups = await runCli(['dead-groups', '--url', served.url, '--json'])
    expect([groups.code, groups.out]).toEqual([0, ''])
  })
})
