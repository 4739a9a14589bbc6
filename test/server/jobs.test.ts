import { describe, expect, it } from 'vitest'
import { Client } from '../../src/client/index.js'
import { runCli } from '../cli/run-cli.js'
import { until } from '../eventually.js'
import { startPair } from './server-pair.js'
import { type Answer, TestServer } from './test-server.js'

const running = new Set(['counting', 'running', 'stopping'])

async function ended(server: TestServer, id: string): Promise<Answer['body']> {
  let job: Answer['body']
  await until('the job has ended', async () => {
    job = (await server.call('GET', `/v1/jobs/${id}`)).body
    return !running.has(job.state)
  })
  return job
}

describe('a job', () => {
  it('changes what matches, and is seen and stopped at any instance', async () => {
    await using pair = await startPair()
    const { owner, other } = pair
    const rows = Array.from({ length: 1200 }, (_, n) => ({
      kind: n % 2 === 0 ? 'even' : 'odd',
      key: String(n),
      in: '1h',
      tags: n < 100 ? ['first'] : [],
    }))
    await owner.call('POST', '/v1/batch', rows)
    const started = await other.call('POST', '/v1/jobs', { action: 'cancel', filter: { kind: 'even' } })
    expect(started.status).toBe(202)
    expect(started.body).toMatchObject({ action: 'cancel', by: 'nobody in particular', namespace: 'default' })
    const done = await ended(owner, started.body.id)
    expect(done).toMatchObject({ state: 'done', found: 600, processed: 600, outcomes: { cancelled: 600 } })
    expect((await owner.call('GET', '/v1/timers/count?kind=odd')).body.count).toBe(600)

    const filter = { kind: 'odd', tag: 'first' }
    const slow = await other.call('POST', '/v1/jobs', { action: 'move', in: '2h', filter, perSecond: 1 })
    expect((await owner.call('GET', '/v1/jobs')).body.jobs.map(({ id }: { id: string }) => id)).toEqual([
      slow.body.id,
      started.body.id,
    ])
    await until('the first was moved', async () => {
      return (await owner.call('GET', `/v1/jobs/${slow.body.id}`)).body.processed > 0
    })
    await owner.call('DELETE', `/v1/jobs/${slow.body.id}`)
    const stopped = await ended(owner, slow.body.id)
    expect(stopped).toMatchObject({ state: 'stopped', found: 50 })
    expect(stopped.processed).toBeLessThan(50)
    expect(stopped.outcomes).toEqual({ moved: stopped.processed })
    const elsewhere = await owner.call('GET', `/v1/jobs/${slow.body.id}`, undefined, {
      'carillon-namespace': 'other',
    })
    expect([elsewhere.status, elsewhere.body.code]).toEqual([404, 'job-unknown'])
  })

  it('pauses, resumes and fires, and redrives or discards dead letters by their reason', async () => {
    await using served = await TestServer.start({ auth: false })
    const client = new Client(served.url)
    for (const key of ['a', 'b', 'c']) await client.set('work', key, { in: '1h' })
    const run = async (input: Parameters<typeof client.operator.startJob>[0]) => {
      const { id } = await client.operator.startJob(input)
      return await ended(served, id)
    }
    expect(await run({ action: 'pause', filter: { kind: 'work' }, note: 'wait' })).toMatchObject({
      state: 'done',
      outcomes: { paused: 3 },
    })
    expect((await client.get('work', 'a'))?.pause?.note).toBe('wait')
    expect((await run({ action: 'resume', filter: { state: 'paused' } })).outcomes).toEqual({ resumed: 3 })
    await client.setTarget('work', { type: 'lease', retry: { attempts: 1 } })
    expect((await run({ action: 'fire', filter: { kind: 'work' } })).outcomes).toEqual({ moved: 3 })
    let given = 0
    while (given < 3)
      for (const { receipt, key } of await client.lease('work', { max: 3, wait: 200 })) {
        given++
        await client.release(receipt, { reason: key === 'a' ? 'no user 7' : `HTTP 50${given}`, dead: true })
      }
    await until('all are dead letters', async () => (await client.dead()).items.length === 3)
    const reasons = (await client.dead()).items.map(({ reason }) => reason)
    const { groups } = await client.operator.deadGroups()
    const group = groups.find(({ reason }) => reason.includes('HTTP'))
    expect([reasons.length, groups.length, group?.count]).toEqual([3, 2, 2])
    const redriven = await run({
      action: 'redrive',
      filter: { kind: 'work', reason: group!.reason },
      perSecond: 1000,
    })
    expect(redriven).toMatchObject({ state: 'done', found: 2, outcomes: { redriven: 2 } })
    expect((await run({ action: 'discard', filter: { all: true } })).outcomes).toEqual({ discarded: 1 })
    expect((await client.dead()).items).toEqual([])
  })

  it('is refused without a filter, and shown on the command line', async () => {
    await using served = await TestServer.start({ auth: false })
    for (const body of [
      { action: 'cancel', filter: {} },
      { action: 'cancel' },
      { action: 'discard', filter: { tag: 'x' } },
      { action: 'move', filter: { kind: 'work' } },
      { action: 'explode', filter: { kind: 'work' } },
    ])
      expect([(await served.call('POST', '/v1/jobs', body)).status, body]).toEqual([400, body])
    await served.call('PUT', '/v1/timers/work/1', { in: '1h' })
    const counted = await runCli(['job', 'cancel', '--kind', 'work', '--wait', '--url', served.url])
    expect(counted.out).toContain('cancel  done  1 of 1')
    expect((await runCli(['jobs', '--url', served.url])).out).toContain('cancel  done  1 of 1')
  })
})
