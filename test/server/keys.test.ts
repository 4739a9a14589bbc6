import { describe, expect, it } from 'vitest'
import { ApiKeys } from '../../src/server/index.js'
import type { Route } from '../../src/server/http/route.js'
import { MemoryStore } from '../../src/store/index.js'
import { systemClock, VirtualClock } from '../../src/time/index.js'
import { during } from '../during.js'
import { TestServer } from './test-server.js'

/** A path that matches a route. The timer need not exist. */
function pathOf({ path }: Route): string {
  const handle = 't1.YQBr.~k.1'
  return path
    .replace('{kind}', 'k')
    .replace('{key}', 'k')
    .replace('{handle}', handle)
    .replace('{receipt}', 'x')
    .replace('{id}', '0123456789ab')
}

/** The status of a request. It retries after 429, because wrong keys are rate-limited. */
async function statusOf(served: TestServer, route: Route, headers: Record<string, string>): Promise<number> {
  for (;;) {
    const response = await fetch(served.url + pathOf(route), {
      method: route.method,
      headers,
      ...(route.body !== undefined && { body: '{}' }),
    })
    await response.body?.cancel()
    if (response.status !== 429) return response.status
    await new Promise((resolve) => setTimeout(resolve, 60))
  }
}

describe('every route', () => {
  it('admits only active keys with the right scope and namespace', async () => {
    await using served = await TestServer.start()
    const { keys, routes } = served.server
    const make = async (
      name: string,
      scope: 'read' | 'write' | 'admin',
      namespace?: string,
      expiresIn?: string,
    ) =>
      (
        await keys.create({
          name,
          scope,
          ...(namespace !== undefined && { namespace }),
          ...(expiresIn !== undefined && { expiresIn }),
        })
      ).token
    const read = await make('r', 'read')
    const write = await make('w', 'write')
    const admin = await make('a', 'admin')
    const boundA = await make('na', 'admin', 'a')
    const boundB = await make('nb', 'admin', 'b')
    const expired = await make('x', 'admin', undefined, '1ms')
    await new Promise((resolve) => setTimeout(resolve, 5))
    const revoked = await make('gone', 'admin')
    await keys.revoke(keys.all.find(({ name }) => name === 'gone')!.id)
    const wrong = `${admin.slice(0, -2)}${admin.endsWith('AA') ? 'BB' : 'AA'}`
    const json = { 'content-type': 'application/json' }
    const bearer = (token: string, namespace?: string): Record<string, string> => ({
      ...json,
      authorization: `Bearer ${token}`,
      ...(namespace !== undefined && { 'carillon-namespace': namespace }),
    })
    expect(routes.length).toBeGreaterThan(30)
    const checkRoute = async (route: Route): Promise<void> => {
      const name = `${route.method} ${route.path}`
      const isAllowed = async (headers: Record<string, string>): Promise<boolean> => {
        const status = await statusOf(served, route, headers)
        expect(`${name} ${status < 500}`).toBe(`${name} true`)
        return status !== 401 && status !== 403
      }
      const seen = {
        none: await statusOf(served, route, json),
        basic: await statusOf(served, route, { ...json, authorization: `Basic ${admin}` }),
        wrong: await statusOf(served, route, bearer(wrong)),
        expired: await statusOf(served, route, bearer(expired)),
        revoked: await statusOf(served, route, bearer(revoked)),
        other: await statusOf(served, route, bearer(boundB, 'a')),
        read: await isAllowed(bearer(read, 'a')),
        write: await isAllowed(bearer(write, 'a')),
        admin: await isAllowed(bearer(admin, 'a')),
        own: await isAllowed(bearer(boundA)),
      }
      expect({ name, ...seen }).toEqual({
        name,
        none: 401,
        basic: 401,
        wrong: 401,
        expired: 401,
        revoked: 401,
        other: 403,
        read: route.scope === 'read',
        write: route.scope !== 'admin',
        admin: true,
        own: route.spansNamespaces !== true,
      })
    }
    for (let at = 0; at < routes.length; at += 8) await Promise.all(routes.slice(at, at + 8).map(checkRoute))
  })
})

describe('API keys', () => {
  it('are made, listed without their secrets, and revoked', async () => {
    const store = new MemoryStore()
    await using served = await TestServer.start({ store })
    const made = await served.call('POST', '/v1/keys', { name: 'billing', scope: 'write', expiresIn: '90d' })
    expect(made.status).toBe(201)
    const { key, token } = made.body
    // The secret follows the second underscore, and may contain underscores itself.
    const secret = token.slice(token.indexOf(key.id) + key.id.length + 1)
    expect(secret.length).toBeGreaterThan(20)
    const listed = await served.call('GET', '/v1/keys')
    expect(listed.body.keys).toContainEqual(key)
    expect(listed.text).not.toContain(secret)
    expect(listed.text).not.toContain('hash')
    const kept = (await store.settings('')).map(({ value }) => value).join('\n')
    expect(kept).not.toContain(secret)
    const asBilling = { authorization: `Bearer ${token}` }
    expect((await served.call('GET', '/v1/timers', undefined, asBilling)).status).toBe(200)
    expect((await served.call('DELETE', `/v1/keys/${key.id}`)).body).toEqual({ outcome: 'revoked' })
    expect((await served.call('GET', '/v1/timers', undefined, asBilling)).status).toBe(401)
    expect((await served.call('DELETE', `/v1/keys/${key.id}`)).body.code).toBe('key-unknown')
  })

  it('allow two active keys per name, for rotation', async () => {
    await using served = await TestServer.start()
    const make = () => served.call('POST', '/v1/keys', { name: 'rotating', scope: 'read' })
    const first = await make()
    expect([first.status, (await make()).status]).toEqual([201, 201])
    const third = await make()
    expect([third.status, third.body.code]).toEqual([409, 'key-limit'])
    await served.call('DELETE', `/v1/keys/${first.body.key.id}`)
    expect((await make()).status).toBe(201)
  })

  it('that are bound to a namespace see and make only its keys, and see only its timers', async () => {
    await using served = await TestServer.start()
    const { token } = await served.server.keys.create({ name: 'a', scope: 'admin', namespace: 'a' })
    const asA = { authorization: `Bearer ${token}` }
    const made = await served.call('POST', '/v1/keys', { name: 'child', scope: 'admin' }, asA)
    expect(made.body.key.namespace).toBe('a')
    const other = { name: 'child', scope: 'admin', namespace: 'b' }
    expect((await served.call('POST', '/v1/keys', other, asA)).status).toBe(403)
    const { keys } = (await served.call('GET', '/v1/keys', undefined, asA)).body
    expect(keys.map(({ namespace }: { namespace: string }) => namespace)).toEqual(['a', 'a'])
    const first = served.server.keys.all.find(({ name }) => name === 'first')!
    expect((await served.call('DELETE', `/v1/keys/${first.id}`, undefined, asA)).status).toBe(404)
    const { handle } = (await served.call('PUT', '/v1/timers/k/secret', { in: '1h' })).body
    await served.call('PUT', '/v1/timers/k/own', { in: '1h' }, asA)
    expect((await served.call('GET', '/v1/timers/k/secret', undefined, asA)).status).toBe(404)
    expect((await served.call('GET', `/v1/handles/${handle}`, undefined, asA)).status).toBe(403)
    expect((await served.call('DELETE', `/v1/handles/${handle}`, undefined, asA)).status).toBe(403)
    const { items } = (await served.call('GET', '/v1/timers', undefined, asA)).body
    expect(items.map(({ key }: { key: string }) => key)).toEqual(['own'])
  })

  it('that another instance made are accepted', async () => {
    const store = new MemoryStore()
    await using one = await TestServer.start({ store })
    await using two = await TestServer.start({ store })
    expect(two.server.firstToken).toBeUndefined()
    const as = { authorization: `Bearer ${one.token}` }
    expect((await two.call('GET', '/v1/keys', undefined, as)).status).toBe(200)
  })

  it('are accepted or refused as soon as create or revoke resolves, even during a refresh', async () => {
    const store = new MemoryStore()
    // A refresh begins before each change and ends after it.
    const slow = new Proxy(store, {
      get(target, name) {
        if (name === 'settings') {
          return async (prefix: string) => {
            const found = await target.settings(prefix)
            await new Promise((resolve) => setTimeout(resolve, 20))
            return found
          }
        }
        if (name === 'putSetting') {
          return async (...given: Parameters<typeof store.putSetting>) => {
            void keys.refresh()
            await new Promise((resolve) => setTimeout(resolve, 5))
            return await target.putSetting(...given)
          }
        }
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
    const keys = new ApiKeys(slow, systemClock)
    const { key, token } = await keys.create({ name: 'a', scope: 'read' })
    expect(keys.findCached(token)).toMatchObject({ id: key.id })
    await keys.revoke(key.id)
    expect(keys.findCached(token)).toBeUndefined()
  })

  it('are limited to `rate` requests per second', async () => {
    const clock = new VirtualClock()
    const served = await TestServer.start({ rate: 5, clock })
    const statuses: number[] = []
    for (let n = 0; n < 7; n++) statuses.push((await served.call('GET', '/v1/kinds')).status)
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429])
    await clock.advance(1000)
    expect((await served.call('GET', '/v1/kinds')).status).toBe(200)
    await during(clock, served.server.stop(), 100, () => new Promise((resolve) => setImmediate(resolve)))
  })

  it('are not needed with auth: false, which allows only loopback hosts', async () => {
    await using served = await TestServer.start({ auth: false })
    expect(served.server.firstToken).toBeUndefined()
    expect((await served.call('PUT', '/v1/timers/a/b', { in: '1h' })).status).toBe(200)
    await expect(TestServer.start({ auth: false, host: '0.0.0.0' })).rejects.toMatchObject({
      code: 'off-loopback',
    })
    const { request } = await import('node:http')
    const status = await new Promise((resolve) => {
      request(
        `${served.url}/v1/timers`,
        { headers: { host: 'evil.example' } },
        ({ statusCode, ...response }) => {
          void response
          resolve(statusCode)
        },
      ).end()
    })
    expect(status).toBe(403)
  })
})

describe('web pages of other origins', () => {
  it('may call only if corsOrigins contains their origin', async () => {
    const origin = { origin: 'https://app.example.org' }
    await using closed = await TestServer.start()
    const refused = await closed.call('GET', '/v1/kinds', undefined, origin)
    expect(refused.headers.get('access-control-allow-origin')).toBeNull()
    await using open = await TestServer.start({ corsOrigins: ['https://app.example.org'] })
    const allowed = await open.call('GET', '/v1/kinds', undefined, origin)
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example.org')
    const preflight = await open.call('OPTIONS', '/v1/timers/a/b', undefined, origin)
    expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization')
    const other = await open.call('OPTIONS', '/v1/timers/a/b', undefined, { origin: 'https://evil.example' })
    expect(other.headers.get('access-control-allow-origin')).toBeNull()
    expect(other.headers.get('access-control-allow-methods')).toBeNull()
    await expect(TestServer.start({ corsOrigins: ['*'] })).rejects.toMatchObject({ code: 'invalid-option' })
  })
})
