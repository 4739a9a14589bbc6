import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../src/time/index.js'
import { SIGN_IN_LINK_MS } from '../../src/server/defaults.js'
import { TestServer } from '../server/test-server.js'

function codeOf(link: string): string {
  return /#\/sign-in\?code=([\w-]{43})$/.exec(link)?.[1] ?? ''
}

async function signIn(server: TestServer, code: string) {
  return await server.call('POST', '/v1/sign-in', { code }, { authorization: '' })
}

describe('a sign-in link', () => {
  it('gives an admin key that lasts a working day, once, and the audit log says so', async () => {
    await using server = await TestServer.start()
    const link = server.server.createSignInLink()
    expect(link.startsWith(`${server.url}/#/`)).toBe(true)
    const { status, body } = await signIn(server, codeOf(link))
    expect(status).toBe(201)
    expect(body.key).toMatchObject({ name: 'sign-in link', scope: 'admin' })
    expect(body.key.expiresAt - body.key.createdAt).toBe(12 * 3_600_000)
    const who = await server.call('GET', '/v1/whoami', undefined, { authorization: `Bearer ${body.token}` })
    expect(who.body).toMatchObject({ key: { id: body.key.id, scope: 'admin' }, needsKey: true })
    const second = await signIn(server, codeOf(link))
    expect([second.status, second.body.code]).toEqual([401, 'unauthorized'])
    const audit = await server.call('GET', '/v1/audit?action=sign-in')
    expect(audit.body.items).toMatchObject([{ action: 'sign-in', subject: body.key.id }])
  })

  it('works for only one of two browsers that use it at once', async () => {
    await using server = await TestServer.start()
    const code = codeOf(server.server.createSignInLink())
    const answers = await Promise.all([signIn(server, code), signIn(server, code), signIn(server, code)])
    expect(answers.map(({ status }) => String(status)).toSorted()).toEqual(['201', '401', '401'])
  })

  it('has ended after ten minutes', async () => {
    const clock = new VirtualClock()
    await using server = await TestServer.start({ clock })
    const [early, late] = [server.server.createSignInLink(), server.server.createSignInLink()]
    await clock.advance(SIGN_IN_LINK_MS - 1)
    expect((await signIn(server, codeOf(early))).status).toBe(201)
    await clock.advance(1)
    expect((await signIn(server, codeOf(late))).status).toBe(401)
  })

  it('may be used again and again by restarts: the third sign-in ends the first one', async () => {
    await using server = await TestServer.start()
    const tokens: string[] = []
    for (let link = 0; link < 3; link++)
      tokens.push((await signIn(server, codeOf(server.server.createSignInLink()))).body.token as string)
    const statuses = await Promise.all(
      tokens.map(async (token) => {
        const who = await server.call('GET', '/v1/whoami', undefined, { authorization: `Bearer ${token}` })
        return who.status
      }),
    )
    expect(statuses).toEqual([401, 200, 200])
  })

  it('cannot be guessed: wrong codes from one address are limited', async () => {
    await using server = await TestServer.start({ clock: new VirtualClock() })
    const statuses: number[] = []
    for (let guess = 0; guess < 22; guess++) statuses.push((await signIn(server, `wrong-${guess}`)).status)
    expect(statuses.filter((status) => status === 401)).toHaveLength(20)
    expect(statuses.at(-1)).toBe(429)
  })
})
