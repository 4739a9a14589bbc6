import { createSocket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { Guard } from '../../src/delivery/webhook/guard.js'
import { NameResolver, type TimedAddress } from '../../src/delivery/webhook/name-resolver.js'
import { VirtualClock } from '../../src/time/index.js'
import { until } from '../eventually.js'

const folder = mkdtempSync(path.join(tmpdir(), 'carillon-names-'))
const hostsFile = path.join(folder, 'hosts')
const resolverFile = path.join(folder, 'resolv.conf')
writeFileSync(hostsFile, '10.1.2.3  Inside.Test other # a comment\n::5 inside.test\n')
writeFileSync(resolverFile, 'nameserver 10.0.0.1\nsearch one.test two.test\n')

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** A resolver on a virtual clock, whose name server knows `names`, and is silent for names that begin with 'silent'. */
function open(names: Readonly<Record<string, readonly TimedAddress[]>> = {}) {
  const clock = new VirtualClock({ start: 0 })
  const asked: string[] = []
  const ask = (name: string): Promise<readonly TimedAddress[]> => {
    asked.push(name)
    return name.startsWith('silent') ? new Promise(() => undefined) : Promise.resolve(names[name] ?? [])
  }
  return { clock, asked, resolver: new NameResolver({ clock, ask, hostsFile, resolverFile }) }
}

describe('the resolver of webhook names', () => {
  it('knows localhost and the hosts file without a name server', async () => {
    const { resolver, asked } = open()
    expect(await resolver.addressesOf('localhost')).toEqual(['127.0.0.1', '::1'])
    expect(await resolver.addressesOf('app.localhost')).toEqual(['127.0.0.1', '::1'])
    expect(await resolver.addressesOf('INSIDE.test')).toEqual(['10.1.2.3', '::5'])
    expect(asked).toEqual([])
  })

  it('tries a name with the search domains: first if it has no dot, last if it has one', async () => {
    const { resolver, asked } = open({
      'api.two.test': [{ address: '192.0.2.1', ttl: 9 }],
      'a.b.one.test': [{ address: '192.0.2.2', ttl: 9 }],
    })
    expect(await resolver.addressesOf('api')).toEqual(['192.0.2.1'])
    expect(await resolver.addressesOf('a.b')).toEqual(['192.0.2.2'])
    expect(asked).toEqual(['api.one.test', 'api.two.test', 'a.b', 'a.b.one.test'])
  })

  it.each([
    [0, 1000],
    [30, 30_000],
    [86_400, 60_000],
  ])('keeps an answer with a time to live of %d s for %d ms', async (ttl, keptMs) => {
    const { resolver, clock, asked } = open({ 'a.test': [{ address: '192.0.2.1', ttl }] })
    await resolver.addressesOf('a.test')
    await clock.advance(keptMs - 1)
    await resolver.addressesOf('a.test')
    expect(asked).toHaveLength(1)
    await clock.advance(1)
    await resolver.addressesOf('a.test')
    expect(asked).toHaveLength(2)
  })

  it('gives up a silent name server after five seconds, and asks it once for all that wait', async () => {
    const { resolver, clock, asked } = open()
    const waiting = Promise.all([resolver.addressesOf('silent.test'), resolver.addressesOf('silent.test')])
    await clock.advance(5000)
    expect(await waiting).toEqual([[], []])
    expect(asked).toEqual(['silent.test'])
  })

  it('has 16 lookups under way, and the next one starts when one of them ends', async () => {
    const { resolver, clock, asked } = open({ 'well.test': [{ address: '192.0.2.1', ttl: 9 }] })
    const silent = Array.from({ length: 16 }, (_, i) => resolver.addressesOf(`silent${i}.test`))
    const well = resolver.addressesOf('well.test')
    await clock.advance(4999)
    expect(asked).toHaveLength(16)
    await clock.advance(1)
    expect(await well).toEqual(['192.0.2.1'])
    await Promise.all(silent)
    // Another namespace has a resolver of its own.
    expect(
      await open({ 'b.test': [{ address: '192.0.2.9', ttl: 1 }] }).resolver.addressesOf('b.test'),
    ).toEqual(['192.0.2.9'])
  })

  it('does not use the thread pool: 200 names at a silent name server do not delay other lookups', async () => {
    const silent = createSocket('udp4')
    await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', resolve))
    let questions = 0
    silent.on('message', () => questions++)
    const servers = [`127.0.0.1:${silent.address().port}`]
    let answered = 0
    for (let i = 0; i < 200; i++) {
      const resolver = new NameResolver({ servers, hostsFile, resolverFile })
      void resolver.addressesOf(`silent${i}.test`).then(() => answered++)
    }
    await until('every name is asked for', () => questions >= 200)
    // A call of the thread pool. It would wait until the lookups there have ended.
    await lookup('localhost')
    expect(answered).toBe(0)
    silent.close()
  })
})

describe('the guard', () => {
  it('gives a name that it refuses and a name that does not exist the same answer', async () => {
    const errors: unknown[] = []
    for (const resolve of [
      async () => ['10.0.0.1'],
      async () => [],
      () => Promise.reject(new Error('ENOTFOUND')),
    ]) {
      const error = await new Guard({ resolve }).addressOf('a.test').catch((thrown: unknown) => thrown)
      const { code, message, name } = error as Error & { code: string }
      errors.push({ code, message, name })
    }
    expect(new Set(errors.map((error) => JSON.stringify(error))).size).toBe(1)
    expect(errors[0]).toMatchObject({ code: 'webhook-unreachable' })
  })

  it('refuses IPv6 addresses outside 2000::/3, which nobody has been given', async () => {
    for (const address of ['4000::1', '8000::1', 'c000::1', '1::1', 'e000::1', '::2:1:1:1:1']) {
      const guard = new Guard({ resolve: async () => [address] })
      await expect(guard.addressOf('a.test')).rejects.toMatchObject({ code: 'webhook-unreachable' })
      expect(() => guard.checkUrl(new URL(`https://[${address}]/`))).toThrow('not on the public internet')
    }
    const open6 = new Guard({ resolve: async () => ['2606:4700::1'] })
    expect(await open6.addressOf('a.test')).toBe('2606:4700::1')
  })

  it.each([
    '10.0.0.0/',
    '10.0.0.0/ ',
    '10.0.0.0/+8',
    '10.0.0.0/8.0',
    '10.0.0.0/0x8',
    '10.0.0.0/8/8',
    '::/',
    '',
  ])('does not take %j for a range of addresses', async (range) => {
    expect(() => new Guard({ addresses: [range] })).toThrow(
      expect.objectContaining({ code: 'invalid-option' }),
    )
  })

  it('reaches a host of its own network by the name in the hosts file', async () => {
    const server = createServer((_, response) => response.end('reached'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const { HttpSender } = await import('../../src/delivery/webhook/http-sender.js')
    const { systemClock } = await import('../../src/time/index.js')
    for (const guard of [undefined, new Guard({ http: true, ports: [port], hosts: ['localhost'] })]) {
      const sender = new HttpSender({
        clock: systemClock,
        guard,
        origin: `http://localhost:${port}`,
        path: '/',
        timeoutMs: 5000,
        connections: 1,
        pipelining: 1,
        maxAnswerBytes: 100,
      })
      expect(await sender.send({ headers: {}, body: '{}' }).answer).toMatchObject({ body: 'reached' })
      await sender.stop()
    }
    server.closeAllConnections()
    server.close()
  })
})
