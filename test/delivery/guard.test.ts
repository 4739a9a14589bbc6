import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Guard } from '../../src/delivery/webhook/guard.js'
import { HttpSender } from '../../src/delivery/webhook/http-sender.js'
import { webhook } from '../../src/delivery/index.js'
import { systemClock } from '../../src/time/index.js'
import { hostileHosts } from './hostile-urls.js'
import { NameServer } from './name-server.js'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const listeners: Server[] = []
let reached = 0
let port = 0

beforeAll(async () => {
  for (const host of ['127.0.0.1', '::1', '0.0.0.0']) {
    const server = createServer((_, response) => {
      reached++
      response.end('reached')
    })
    listeners.push(server)
    await new Promise<void>((resolve) => {
      server.once('error', () => resolve())
      server.listen(host === '127.0.0.1' ? 0 : port, host, resolve)
    })
    if (host === '127.0.0.1') ({ port } = server.address() as AddressInfo)
  }
})

afterAll(() => {
  for (const server of listeners) {
    server.closeAllConnections()
    server.close()
  }
})

function senderFor(origin: string, guard: Guard | undefined): HttpSender {
  return new HttpSender({
    clock: systemClock,
    guard,
    origin,
    path: '/',
    timeoutMs: 2000,
    connections: 1,
    pipelining: 1,
    maxAnswerBytes: 1000,
  })
}

/** Goes the whole way past the check of the URL: straight to the connection. */
async function outcomeOf(url: string, guard: Guard | undefined): Promise<string> {
  let parsed: URL
  try {
    parsed = new URL(url)
  } catch {
    return 'no URL'
  }
  const sender = senderFor(parsed.origin, guard)
  try {
    const { status } = await sender.send({ headers: {}, body: '{}' }).answer
    return String(status)
  } catch (error) {
    // Callers see one code for all of them. The cause is for the log.
    const { code, cause } = error as { code: string; cause?: { code?: string } }
    return cause?.code === 'webhook-refused' ? cause.code : code
  } finally {
    await sender.stop()
  }
}

describe('the guard', () => {
  it('refuses every spelling of a non-public address, in the URL and at the connection', async () => {
    const hosts = hostileHosts()
    expect(hosts.length).toBeGreaterThan(300)
    const guard = { http: true, ports: [port] }
    let readable = 0
    for (const host of hosts) {
      const url = `http://${host}:${port}/`
      const isName = /^(?:localhost\.?|ip6-localhost)$/i.test(host)
      if (!isName) {
        expect(() => webhook(url, { secret, guard })).toThrow(
          expect.objectContaining({ code: expect.stringMatching(/^(?:refused|invalid)-url$/) as string }),
        )
      }
      const outcome = await outcomeOf(url, new Guard(guard))
      expect({ url, isKept: ['webhook-refused', 'webhook-unreachable', 'no URL'].includes(outcome) }).toEqual(
        {
          url,
          isKept: true,
        },
      )
      if (outcome === 'webhook-refused') readable++
    }
    expect(readable).toBeGreaterThan(250)
    expect(reached).toBe(0)
    // The listener is there: without the guard it is reached.
    expect(await outcomeOf(`http://127.0.0.1:${port}/`, undefined)).toBe('200')
    expect(reached).toBe(1)
  })

  it('connects to the address that it has checked, even if the name changes in between', async () => {
    const before = reached
    const rebinding = await NameServer.start(['93.184.216.34', '127.0.0.1'])
    try {
      const guard = new Guard({ http: true, ports: [port], resolve: rebinding.resolve })
      const checked = await guard.addressOf('rebind.test')
      expect(checked).toBe('93.184.216.34')
      expect(rebinding.questions).toBe(1)
      // Asked again for a connection it points here.
      expect(await outcomeOf(`http://rebind.test:${port}/`, guard)).toBe('webhook-refused')
      expect(reached).toBe(before)
    } finally {
      rebinding.stop()
    }
  })

  it('refuses a name when any of its addresses is not public', async () => {
    const guard = new Guard({ http: true, ports: [port], resolve: async () => ['93.184.216.34', '::1'] })
    await expect(guard.addressOf('mixed.test')).rejects.toMatchObject({ cause: { code: 'webhook-refused' } })
    const strange = new Guard({ resolve: async () => ['not an address'] })
    await expect(strange.addressOf('strange.test')).rejects.toMatchObject({
      cause: { code: 'webhook-refused' },
    })
    const none = new Guard({ resolve: async () => [] })
    await expect(none.addressOf('none.test')).rejects.toMatchObject({ code: 'webhook-unreachable' })
  })

  it('follows no redirect of any kind', async () => {
    const before = reached
    for (const status of [301, 302, 303, 307, 308]) {
      const server = createServer((_, response) => {
        response.writeHead(status, { location: `http://127.0.0.1:${port}/` }).end()
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port: from } = server.address() as AddressInfo
      expect(await outcomeOf(`http://127.0.0.1:${from}/`, undefined)).toBe(String(status))
      server.closeAllConnections()
      server.close()
    }
    expect(reached).toBe(before)
  })

  it('refuses http, other ports, credentials and invalid URLs, except what is allowed', () => {
    const guard = {}
    const refusedUrl = expect.objectContaining({ code: 'refused-url' }) as Error
    for (const url of [
      'http://example.org/',
      'https://example.org:22/',
      'https://example.org:8080/',
      'https://user@example.org/',
      'https://user:password@example.org/',
      'https://:password@example.org/',
    ])
      expect(() => webhook(url, { secret, guard })).toThrow(refusedUrl)
    for (const url of [
      'ftp://example.org/',
      'file:///etc/passwd',
      'data:text/plain,x',
      'javascript:alert(1)',
    ])
      expect(() => webhook(url, { secret })).toThrow(refusedUrl)
    for (const url of ['', 'example.org', 'http://', 'https://exa mple.org', '//example.org'])
      expect(() => webhook(url, { secret })).toThrow(expect.objectContaining({ code: 'invalid-url' }))
    expect(webhook('https://example.org/a?b=c', { secret, guard })).toMatchObject({ path: '/a?b=c' })
    expect(webhook('https://example.org:8443/', { secret, guard })).toMatchObject({
      origin: 'https://example.org:8443',
    })
    expect(webhook('http://example.org/', { secret, guard: { http: true } })).toBeDefined()
  })

  it('allows hosts by name and addresses by range', async () => {
    const before = reached
    const byRange = new Guard({ http: true, ports: [port], addresses: ['127.0.0.0/8'] })
    expect(await outcomeOf(`http://127.0.0.1:${port}/`, byRange)).toBe('200')
    expect(await outcomeOf(`http://[::ffff:127.0.0.1]:${port}/`, byRange)).toBe('webhook-refused')
    const byName = new Guard({
      http: true,
      ports: [port],
      hosts: ['inside.test'],
      resolve: async () => ['127.0.0.1'],
    })
    expect(await outcomeOf(`http://inside.test:${port}/`, byName)).toBe('200')
    expect(await outcomeOf(`http://other.test:${port}/`, byName)).toBe('webhook-refused')
    expect(reached).toBe(before + 2)
    expect(() => new Guard({ addresses: ['10.0.0.0/33'] })).toThrow(
      expect.objectContaining({ code: 'invalid-option' }),
    )
  })

  it('says that a URL is refused without saying where it leads', async () => {
    const guard = new Guard({ resolve: async () => ['10.1.2.3'] })
    const error = await guard.addressOf('secret.internal').catch((thrown: unknown) => thrown as Error)
    expect((error as Error).message).not.toMatch(/10\.|internal/)
  })
})
