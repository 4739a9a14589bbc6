import { beforeAll, afterAll, describe, expect, it } from 'vitest'
import { eventually } from '../eventually.js'
import { misfit, type JsonSchema } from './json-schema.js'
import { TestServer } from './test-server.js'

interface Media {
  readonly schema: JsonSchema
  readonly example?: unknown
}

interface Operation {
  readonly security?: readonly unknown[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

let served: TestServer
let document: OpenApi

beforeAll(async () => {
  served = await TestServer.start()
  document = (await served.call('GET', '/v1/openapi.json')).body as OpenApi
})

afterAll(() => served.server.stop())

function operations(): [string, Operation][] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      each,
    ]),
  )
}

/** The schemas inside a schema, with the way to each. A reference is not followed. */
function* within(schema: JsonSchema, path: string): Generator<[string, JsonSchema]> {
  yield [path, schema]
  for (const [name, each] of Object.entries(schema.properties ?? {})) yield* within(each, `${path}.${name}`)
  for (const [i, each] of (schema.anyOf ?? []).entries()) yield* within(each, `${path}|${i}`)
  if (schema.items !== undefined) yield* within(schema.items, `${path}[]`)
}

function* allSchemas(): Generator<[string, JsonSchema]> {
  for (const [name, schema] of Object.entries(document.components.schemas)) yield* within(schema, name)
  for (const [name, { requestBody, responses }] of operations()) {
    for (const { schema } of Object.values(requestBody?.content ?? {})) yield* within(schema, `${name} body`)
    for (const [status, { content }] of Object.entries(responses))
      for (const { schema } of Object.values(content ?? {})) yield* within(schema, `${name} ${status}`)
  }
}

describe('the OpenAPI document', () => {
  it('gives every value a type, so that generated clients have types', () => {
    const untyped = [...allSchemas()].filter(
      ([, { $ref, type, anyOf, const: value }]) =>
        $ref === undefined && type === undefined && anyOf === undefined && value === undefined,
    )
    expect(untyped.map(([path]) => path)).toEqual([])
  })

  it('names what clients work with, and refers to it', () => {
    const { schemas } = document.components
    for (const name of ['Timer', 'TimerInput', 'Schedule', 'ScheduleInput', 'DeadLetter', 'Target', 'Firing'])
      expect(Object.keys(schemas)).toContain(name)
    const { responses, requestBody } = document.paths['/v1/timers/{kind}/{key}']!['put']!
    expect(requestBody!.content['application/json']!.schema).toEqual({
      $ref: '#/components/schemas/TimerInput',
    })
    const got = document.paths['/v1/timers/{kind}/{key}']!['get']!
    expect(got.responses['200']!.content!['application/json']!.schema).toEqual({
      $ref: '#/components/schemas/Timer',
    })
    expect(responses['200']).toBeDefined()
    expect(schemas['Timer']!.properties!['on']).toMatchObject({ $ref: '#/components/schemas/Schedule' })
    expect(schemas['TimerInput']!.properties!['on']).toMatchObject({
      $ref: '#/components/schemas/ScheduleInput',
    })
  })

  it('describes schedules as the server answers them', async () => {
    for (const on of [
      '0 9 * * *',
      { type: 'every', everyMs: 1000, anchor: 0 },
      { type: 'daily', at: '09:00', zone: 'Europe/Paris' },
      { type: 'weekly', on: ['monday'], at: '09:00' },
      { type: 'monthly', day: ['last', 3], at: '09:00' },
      { type: 'yearly', month: 2, day: 29, at: '02:30' },
      { type: 'rrule', rule: 'FREQ=DAILY;COUNT=2', start: '2027-01-01T09:00' },
    ]) {
      const { body, status } = await served.call('POST', '/v1/schedules/preview', { on })
      expect([
        status,
        body.detail,
        misfit(document.components.schemas['Schedule']!, body.schedule, document),
      ]).toEqual([200, undefined, undefined])
      expect(misfit(document.components.schemas['ScheduleInput']!, on, document)).toBeUndefined()
    }
  })

  it('has an example for every body, which the body schema accepts', () => {
    const faults = operations().flatMap(([name, { requestBody }]) => {
      const media = requestBody?.content['application/json']
      if (media === undefined) return []
      if (media.example === undefined) return [`${name}: no example`]
      const fault = misfit(media.schema, media.example, document)
      return fault === undefined ? [] : [`${name}: ${fault}`]
    })
    expect(faults).toEqual([])
  })

  it('has the examples that the server accepts', async () => {
    const bodyOf = (path: string, method: string): unknown =>
      document.paths[path]![method]!.requestBody!.content['application/json']!.example
    const kind = '/v1/timers/remind'
    expect((await served.call('PUT', `${kind}/1`, bodyOf('/v1/timers/{kind}/{key}', 'put'))).status).toBe(200)
    expect((await served.call('POST', kind, bodyOf('/v1/timers/{kind}', 'post'))).status).toBe(201)
    const move = bodyOf('/v1/timers/{kind}/{key}/move', 'post')
    expect((await served.call('POST', `${kind}/1/move`, move)).status).toBe(200)
    for (const path of ['/v1/batch', '/v1/keys', '/v1/schedules/preview', '/v1/bulk/cancel', '/v1/pause'])
      expect([path, (await served.call('POST', path, bodyOf(path, 'post'))).status]).toEqual([
        path,
        path === '/v1/keys' ? 201 : 200,
      ])
    const target = await served.call('PUT', '/v1/targets/remind', bodyOf('/v1/targets/{kind}', 'put'))
    expect(target.status).toBe(200)
  })

  it('has the routes that need no key', () => {
    for (const path of ['/healthz', '/readyz']) {
      expect(document.paths[path]!['get']!.security).toEqual([])
      expect(document.paths[path]!['get']!.responses['200']).toBeDefined()
    }
    expect(document.paths['/readyz']!['get']!.responses['503']).toBeDefined()
  })

  it('has one form for every instant of an answer', () => {
    const isInstant = /(?:^at|[a-z]At|leaseUntil|Inclusive|Exclusive|Position)$/
    const others = [...allSchemas()].filter(([path, schema]) => {
      const name = path.split('.').at(-1)!
      const isInput = /^Schedule| body|Input|Move|^Lease(Ack|Row)|Batch(Row)?\b/.test(path)
      return isInstant.test(name) && !isInput && schema.$ref !== '#/components/schemas/EpochMs'
    })
    expect(others.map(([path]) => path)).toEqual([])
  })
})

describe('instants in requests', () => {
  it.each(['2027-01-31T09:00:00Z', 1_801_386_000_000])('may be %s on every route', async (at) => {
    await served.call('PUT', '/v1/targets/leased', { type: 'lease' })
    await served.call('PUT', '/v1/timers/leased/1', { in: 0 })
    const leased = await served.call('POST', '/v1/leases', { kinds: ['leased'], waitMs: 5000 })
    const [{ receipt }] = leased.body.firings as [{ receipt: string }]
    const statuses = [
      await served.call('PUT', '/v1/timers/remind/at', { at }),
      await served.call('POST', '/v1/timers/remind/at/move', { at }),
      await served.call('POST', '/v1/schedules/preview', { on: '0 9 * * *', from: at }),
      await served.call('GET', `/v1/timers?dueFrom=${at}&dueUntil=${at}`),
      await served.call('GET', `/v1/history?from=${at}&until=${at}`),
      await served.call('GET', `/v1/forecast?from=${at}&over=1h&slice=1m`),
      await served.call('GET', `/v1/audit?from=${at}&until=${at}`),
      await served.call('POST', '/v1/bulk/cancel', { filter: { dueFrom: at, dueUntil: at } }),
      await served.call('POST', `/v1/leases/${receipt}/ack`, { again: { at } }),
    ].map(({ status }) => status)
    expect(statuses).toEqual(statuses.map(() => 200))
    expect((await served.call('GET', '/v1/timers/remind/at')).body.dueAt).toBe(1_801_386_000_000)
    // The outcome of an attempt is settled a little later.
    await eventually(async () => {
      expect((await served.call('GET', '/v1/timers/leased/1')).body.dueAt).toBe(1_801_386_000_000)
    })
    await served.call('DELETE', '/v1/timers/leased/1')
  })
})

describe('a refused request', () => {
  it.each([
    [{ in: true }, '`in` must be milliseconds', 'got true'],
    [{ in: '1h', tags: 'vip' }, '`tags` must be an array', 'got "vip"'],
    [{ in: '1h', tags: ['vip', 7] }, '`tags[1]` must be a string of 1 to 128 characters', 'got 7'],
    [{ in: '1h', retry: { attempts: 0 } }, '`retry.attempts` must be an integer from 1', 'got 0'],
    [{ in: '1h', playload: 1 }, 'unknown field `playload`', 'payload'],
    ['[]', 'the body must be an object', 'got an array'],
  ])('%j says which field is wrong, what was wanted and what was got', async (body, wanted, got) => {
    const { status, body: problem } = await served.call('PUT', '/v1/timers/remind/1', body)
    expect([status, problem.code]).toEqual([400, 'invalid-body'])
    expect(problem.detail).toContain(wanted)
    expect(problem.detail).toContain(got)
  })

  it('says so for a missing field, a query and a row of a batch', async () => {
    const missing = await served.call('POST', '/v1/keys', { scope: 'read' })
    expect(missing.body.detail).toMatch(/^`name` is missing: it must be a string/)
    const query = await served.call('GET', '/v1/timers?limit=many')
    expect(query.body.detail).toMatch(/^`limit` must be an integer from 1 to 1000, got "many"/)
    const batch = await served.call('POST', '/v1/batch', [{ kind: 'remind', in: [] }])
    expect(batch.body[0].detail).toMatch(/^`in` must be milliseconds.*, got an array$/)
    const choice = await served.call('POST', '/v1/batch', [{ do: 'fire', kind: 'remind' }])
    expect(choice.body[0].detail).toMatch(/^`do` must be "set", "move" or "cancel", got "fire"$/)
    const rows = await served.call('POST', '/v1/leases/batch', [{ do: 'ack' }])
    expect(rows.body[0].detail).toMatch(/`receipt` is missing/)
  })
})

describe('conditions and methods', () => {
  it('takes If-Match: * for a timer that exists, and refuses it for one that does not', async () => {
    const any = { 'if-match': '*' }
    const none = await served.call('PUT', '/v1/timers/remind/any', { in: '1h' }, any)
    expect([none.status, none.body.code]).toEqual([412, 'revision-conflict'])
    expect((await served.call('GET', '/v1/timers/remind/any')).status).toBe(404)
    await served.call('PUT', '/v1/timers/remind/any', { in: '1h' })
    expect((await served.call('PUT', '/v1/timers/remind/any', { in: '2h' }, any)).status).toBe(200)
    expect((await served.call('POST', '/v1/timers/remind/any/move', { in: '1h' }, any)).status).toBe(200)
    expect((await served.call('DELETE', '/v1/timers/remind/any', undefined, any)).status).toBe(200)
  })

  it('answers an unknown method on a known path with 405 and the known ones', async () => {
    const patched = await served.call('POST', '/v1/timers/remind/1', {})
    expect([patched.status, patched.body.code, patched.headers.get('allow')]).toEqual([
      405,
      'method-unknown',
      'DELETE, GET, PATCH, PUT',
    ])
    expect((await served.call('DELETE', '/healthz')).headers.get('allow')).toBe('GET')
    expect((await served.call('GET', '/v1/nothing')).status).toBe(404)
  })
})

describe('the docs page', () => {
  it('has contents, and an example of every route that takes a body', async () => {
    const { text } = await served.call('GET', '/docs')
    const links = [...text.matchAll(/<a href="#([^"]+)"/g)].map(([, id]) => id)
    expect(links.length).toBeGreaterThan(40)
    for (const id of links) expect(text).toContain(`id="${id}"`)
    const withBody = operations().filter(([, { requestBody }]) => requestBody !== undefined)
    expect([...text.matchAll(/curl /g)].length).toBeGreaterThanOrEqual(withBody.length)
  })
})
