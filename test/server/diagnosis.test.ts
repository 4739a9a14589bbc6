import { createServer } from 'node:http'
import { describe, expect, it } from 'vitest'
import { MemoryStore } from '../../src/store/index.js'
import { runCli } from '../cli/run-cli.js'
import { eventually } from '../eventually.js'
import { TestServer } from './test-server.js'

const LONG_AGO = '2026-01-01T00:00:00Z'
const engine = { acquireMs: 20, heartbeatMs: 20, settleMs: 20, stopMs: 200 }

/** A server, and what its tools say. */
async function start(port = 443, store = new MemoryStore()) {
  const served = await TestServer.start({
    store,
    auth: false,
    engine,
    guard: { http: true, ports: [port], addresses: ['127.0.0.0/8'] },
  })
  const env = { CARILLON_URL: served.url }
  return {
    served,
    /** The codes of the causes that `why` gives for a timer. */
    whyOf: async (kind: string, key: string) => {
      const { body } = await served.call('GET', `/v1/timers/${kind}/${key}/why`)
      return body as { causes: { code: string; text: string }[]; told: string[] }
    },
    diagnosis: async () => {
      const { causes } = (await served.call('GET', '/v1/diagnosis')).body as { causes: { code: string }[] }
      return causes.map(({ code }) => code)
    },
    why: (kind: string, key: string) => runCli(['why', kind, key], { env }),
    list: () => runCli(['list'], { env }),
    doctor: () => runCli(['doctor', '--store', 'memory:'], { env }),
    [Symbol.asyncDispose]: () => served.server.stop(),
  }
}

describe('the tools name the cause if due timers do not fire', () => {
  it('because no instance has a handler or a target for the kind', async () => {
    await using one = await start()
    await one.served.call('PUT', '/v1/timers/work/a', { in: 0 })
    expect((await one.whyOf('work', 'a')).causes.map(({ code }) => code)).toEqual(['unhandled'])
    expect(await one.diagnosis()).toEqual(['unhandled'])
    const { code, out } = await one.why('work', 'a')
    expect([code, out]).toEqual([
      0,
      expect.stringContaining('no instance has a handler or a target for kind "work"'),
    ])
    expect(out).toContain('PUT /v1/targets/work')
    const doctor = await one.doctor()
    expect(doctor.out).toMatch(/^warn {2}firing: no instance has a handler .*: 1 due timers wait$/m)
  })

  it('also in get and list, once a timer is overdue', async () => {
    await using one = await start()
    await one.served.call('PUT', '/v1/targets/paused', { type: 'log' })
    await one.served.call('POST', '/v1/pause', { kind: 'paused' })
    await one.served.call('PUT', '/v1/timers/paused/a', { at: LONG_AGO })
    await one.served.call('PUT', '/v1/timers/work/a', { at: LONG_AGO })
    await one.served.call('PUT', '/v1/timers/work/later', { in: '1h' })
    expect((await one.served.call('GET', '/v1/timers/work/a')).body.causes).toEqual(['unhandled'])
    expect((await one.served.call('GET', '/v1/timers/work/later')).body).not.toHaveProperty('causes')
    const { items } = (await one.served.call('GET', '/v1/timers')).body as {
      items: { kind: string; key: string; causes?: string[] }[]
    }
    expect(Object.fromEntries(items.map(({ kind, key, causes }) => [`${kind} ${key}`, causes]))).toEqual({
      'paused a': ['kind-paused'],
      'work a': ['unhandled'],
      'work later': undefined,
    })
    expect((await one.list()).out).toMatch(/waiting, overdue: kind-paused {2}paused a/)
  })

  it('because the kind or everything is paused, until it is resumed', async () => {
    await using one = await start()
    await one.served.call('PUT', '/v1/targets/work', { type: 'log' })
    await one.served.call('POST', '/v1/pause', { kind: 'work' })
    await one.served.call('PUT', '/v1/timers/work/a', { in: 0 })
    expect(await one.diagnosis()).toEqual(['kind-paused'])
    expect((await one.whyOf('work', 'a')).told.at(-1)).toMatch(/paused.*carillon resume work$/)
    await one.served.call('POST', '/v1/pause', {})
    expect(await one.diagnosis()).toEqual(['all-paused', 'kind-paused'])
    await one.served.call('POST', '/v1/resume', {})
    await one.served.call('POST', '/v1/resume', { kind: 'work' })
    await eventually(async () => expect(await one.diagnosis()).toEqual([]))
    expect((await one.doctor()).out).toContain('ok    firing: nothing keeps due timers from firing')
  })

  it('because the target answered 410, or fails so often that its breaker is open', async () => {
    const receiver = createServer((request, response) => {
      response.writeHead(request.url === '/gone' ? 410 : 503).end()
    })
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    const { port } = receiver.address() as { port: number }
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    await using one = await start(port)
    const url = `http://127.0.0.1:${port}`
    const retry = { attempts: 20, backoff: '1ms' }
    for (const kind of ['gone', 'down']) {
      const target = { type: 'webhook', url: `${url}/${kind}`, secret, retry }
      expect((await one.served.call('PUT', `/v1/targets/${kind}`, target)).status).toBe(200)
    }
    await one.served.call('PUT', '/v1/timers/gone/a', { in: 0 })
    await eventually(async () =>
      expect((await one.served.call('GET', '/v1/pauses')).body.kinds).toEqual(['gone']),
    )
    await one.served.call('PUT', '/v1/timers/gone/b', { in: 0 })
    for (let n = 0; n < 10; n++) await one.served.call('PUT', `/v1/timers/down/k${n}`, { in: 0 })
    await eventually(async () =>
      expect((await one.diagnosis()).toSorted()).toEqual(['breaker-open', 'target-gone']),
    )
    receiver.close()
  })

  it('names a target that answered 410 at every instance and after a restart, until somebody pauses the kind', async () => {
    const receiver = createServer((_, response) => response.writeHead(410).end())
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    const { port } = receiver.address() as { port: number }
    const store = new MemoryStore()
    {
      await using one = await start(port, store)
      const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
      const target = { type: 'webhook', url: `http://127.0.0.1:${port}`, secret }
      await one.served.call('PUT', '/v1/targets/gone', target)
      await one.served.call('PUT', '/v1/timers/gone/a', { in: 0 })
      await eventually(async () =>
        expect((await one.served.call('GET', '/v1/pauses')).body.kinds).toEqual(['gone']),
      )
    }
    receiver.close()
    await using two = await start(port, store)
    await two.served.call('PUT', '/v1/timers/gone/b', { in: 0 })
    expect(await two.diagnosis()).toEqual(['target-gone'])
    await two.served.call('POST', '/v1/pause', { kind: 'gone' })
    expect(await two.diagnosis()).toEqual(['kind-paused'])
  })
})

describe('a target whose secret key is missing, as after a restore without it', () => {
  it('is named with the remedy, hides no other target, and can be set again', async () => {
    const store = new MemoryStore()
    const form = { type: 'webhook', url: 'https://example.com/', secret: `whsec_${'QUJD'.repeat(8)}` }
    const key = Buffer.alloc(32, 1).toString('base64')
    {
      await using before = await TestServer.start({ store, auth: false, engine, secretKey: key })
      expect((await before.call('PUT', '/v1/targets/remind', form)).status).toBe(200)
    }
    const other = Buffer.alloc(32, 2).toString('base64')
    await using restored = await TestServer.start({ store, auth: false, engine, secretKey: other })
    await restored.call('PUT', '/v1/targets/work', { type: 'log' })
    const { targets } = (await restored.call('GET', '/v1/targets')).body as {
      targets: { kind: string; type: string }[]
    }
    const types = targets.map(({ kind, type }) => [kind, type])
    expect(types).toContainEqual(['remind', 'sealed'])
    expect(types).toContainEqual(['work', 'log'])
    await restored.call('PUT', '/v1/timers/remind/a', { in: 0 })
    const { causes } = (await restored.call('GET', '/v1/timers/remind/a/why')).body
    expect(causes).toMatchObject([{ code: 'target-sealed' }])
    expect(causes[0].remedy).toContain('secret.key')
    const doctor = await runCli(['doctor', '--store', 'memory:'], { env: { CARILLON_URL: restored.url } })
    expect(doctor.out).toMatch(/warn {2}firing: the target of kind "remind" is sealed/)
    expect((await restored.call('PUT', '/v1/targets/remind', { type: 'log' })).status).toBe(200)
    await eventually(async () => {
      expect((await restored.call('GET', '/v1/timers/remind/a')).body.state).toBe('settled')
    })
  })
})

describe('carillon why', () => {
  it('says when a timer fired, and ends with 3 for one that never existed', async () => {
    await using one = await start()
    await one.served.call('PUT', '/v1/targets/work', { type: 'log' })
    await one.served.call('PUT', '/v1/timers/work/a', { in: 0 })
    await eventually(async () => {
      const { code, out } = await one.why('work', 'a')
      expect([code, out]).toEqual([0, expect.stringMatching(/settled as done, not before 20/)])
    })
    const never = await one.why('work', 'b')
    expect([never.code, never.out]).toEqual([
      3,
      expect.stringMatching(/^no timer work b is known: it never existed/),
    ])
  })
})
