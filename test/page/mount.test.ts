import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fastify } from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { Server } from '../../src/server/server.js'

const cleanups: (() => Promise<unknown> | undefined)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})

/** Users are known by a cookie, as in a program that has a login of its own. */
function authenticate({ headers }: IncomingMessage) {
  const user = /user=(\w+)/.exec(headers.cookie ?? '')?.[1]
  if (user === undefined) return undefined
  return { name: user, scope: user === 'ann' ? ('admin' as const) : ('read' as const) }
}

async function mounted(): Promise<Server> {
  const server = await Server.mount({ store: 'memory:', authenticate })
  cleanups.push(() => server.stop())
  return server
}

async function listen(handler: RequestListener): Promise<string> {
  const http = createServer(handler)
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => new Promise((resolve) => (http.closeAllConnections(), http.close(resolve))))
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`
}

const ann = { cookie: 'user=ann' }
const json = { 'content-type': 'application/json' }

/** What holds in every framework. `at` is the URL with the prefix. */
async function checkAt(
  at: string,
  send: (url: string, init?: RequestInit) => Promise<Response>,
): Promise<void> {
  const bare = await send(at, { redirect: 'manual' })
  expect([bare.status, bare.headers.get('location')]).toEqual([308, 'timers/'])
  const page = await send(`${at}/`)
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  const [asset] = /assets\/[\w.-]+\.js/.exec(await page.text()) ?? []
  expect((await send(`${at}/${asset}`)).status).toBe(200)
  expect((await send(`${at}/v1/whoami`)).status).toBe(401)
  const who = await send(`${at}/v1/whoami`, { headers: ann })
  expect(await who.json()).toMatchObject({ key: { name: 'ann', scope: 'admin' } })
  const body = JSON.stringify({ in: '1h', payload: { text: 'ä' } })
  const set = await send(`${at}/v1/timers/hello/a%2Fb?x`, {
    method: 'PUT',
    headers: { ...ann, ...json },
    body,
  })
  expect([set.status, await set.json()]).toMatchObject([200, { outcome: 'set', key: 'a/b' }])
  const got = await send(`${at}/v1/timers/hello/a%2Fb`, { headers: ann })
  expect(await got.json()).toMatchObject({ payload: { text: 'ä' } })
  // A user may do what the program says, and pages of other sites may change nothing in the user's name.
  const bob = await send(`${at}/v1/timers/hello/a%2Fb`, { method: 'DELETE', headers: { cookie: 'user=bob' } })
  expect(bob.status).toBe(403)
  for (const foreign of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }]) {
    const forged = await send(`${at}/v1/timers/hello/a%2Fb/fire`, {
      method: 'POST',
      headers: { ...ann, ...foreign },
    })
    expect(forged.status).toBe(403)
  }
}

describe('a mounted server', () => {
  it("answers below a prefix of Node's own server", async () => {
    const server = await mounted()
    const handle = server.handler({ prefix: '/timers' })
    const url = await listen(handle)
    await checkAt(`${url}/timers`, fetch)
    expect((await fetch(`${url}/other`)).status).toBe(404)
    expect((await fetch(`${url}/timersX/`)).status).toBe(404)
  })

  it('answers where a framework has cut the prefix off and read the body, as Express and NestJS do', async () => {
    const server = await mounted()
    const handle = server.handler()
    const url = await listen((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        Object.assign(request, {
          originalUrl: request.url,
          url: request.url?.replace('/timers', '') || '/',
          body: text === '' ? {} : (JSON.parse(text) as unknown),
        })
        handle(request, response)
      })
    })
    await checkAt(`${url}/timers`, fetch)
    expect((await fetch(`${url}/timers/v1/nothing`, { headers: ann })).status).toBe(404)
  })

  it('is a plugin of Fastify', async () => {
    const server = await mounted()
    const app = fastify()
    app.get('/own', () => 'own')
    await app.register(server.plugin(), { prefix: '/timers' })
    cleanups.push(() => app.close())
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    await checkAt(`${url}/timers`, fetch)
    expect(await (await fetch(`${url}/own`)).text()).toBe('own')
  })

  it('answers a Request with a Response, as Next.js and Hono want it, also with a stream', async () => {
    const server = await mounted()
    await checkAt('http://localhost/timers', async (url, init) => {
      return await server.fetch(new Request(url, init), { prefix: '/timers' })
    })
    const stream = await server.fetch(new Request('http://localhost/v1/events', { headers: ann }))
    expect(stream.headers.get('content-type')).toContain('text/event-stream')
    const reader = stream.body!.getReader()
    expect(new TextDecoder().decode((await reader.read()).value)).toContain('listening')
    await reader.cancel()
  })

  it('takes API keys beside the users of the program', async () => {
    const server = await mounted()
    const headers = { authorization: `Bearer ${server.firstToken ?? ''}` }
    const answer = await server.fetch(new Request('http://localhost/v1/whoami', { headers }))
    expect(await answer.json()).toMatchObject({ key: { name: 'first' } })
  })
})
