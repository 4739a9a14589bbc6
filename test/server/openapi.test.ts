import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dereferenced, fitting, type JsonSchema, misfit } from './json-schema.js'
import { TestServer } from './test-server.js'

// CARILLON_REQUESTS=20000 sends more, and CARILLON_SEED=7 sends others.
const COUNT = Number(process.env['CARILLON_REQUESTS'] ?? 3000)
const SEED = Number(process.env['CARILLON_SEED'] ?? 20_261_116)
const AT_ONCE = 16
const MAX_WAIT_MS = 5

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly schema: JsonSchema
}

interface Operation {
  readonly parameters: readonly Parameter[]
  readonly requestBody?: {
    readonly content: { readonly 'application/json': { readonly schema: JsonSchema } }
  }
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { schema: JsonSchema }>> }>
  >
}

interface Request {
  readonly method: string
  readonly path: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** Mostly values that a server accepts, and sometimes one that it refuses. */
function mostly(good: readonly unknown[], bad: readonly unknown[]): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 16, arbitrary: fc.constantFrom(...good) },
    { weight: 1, arbitrary: fc.constantFrom(...bad) },
  )
}

const durations = mostly(['5m', '1h', 'PT5M', 1, 60_000], [0, 'soon', '', '-1s', '9999999999d', 1e300, -1])
const instants = mostly(['2027-01-31T09:00:00Z', 1e12, 8.64e15], [0, '2027-01-31', 1e300, -5, 'now'])

/** The guard refuses all of these, so that no test calls another machine. */
const urls = fc.constantFrom('https://127.0.0.1/x', 'http://10.0.0.1/', 'https://[::1]:99/', 'nonsense', '')

const byName: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  kind: mostly(['a', 'b'], ['ü', 'nobody']),
  kinds: mostly([['leased']], [['a', 'b'], ['nobody'], []]),
  key: mostly(['1', 'x/y'], ['%', '..', 'ü']),
  in: durations,
  duration: durations,
  over: mostly(['1h', '1d'], ['0', '9999d', 'x']),
  slice: mostly(['1m', '1h'], ['0', '1', 'x']),
  at: instants,
  on: mostly(
    [
      '0 9 * * *',
      { type: 'daily', at: '09:00', zone: 'Europe/Paris' },
      { type: 'every', everyMs: 1000, anchor: 0 },
      { type: 'yearly', month: 2, day: 29, at: '02:30', zone: 'America/New_York' },
    ],
    [
      '* * * * * *',
      '0 0 30 2 *',
      { type: 'rrule', rule: 'FREQ=DAILY;COUNT=2' },
      { type: 'nothing' },
      { type: '__proto__' },
    ],
  ),
  backoff: mostly(['1s..1m', '5s'], ['1m..1s', 'x']),
  ifAbsent: mostly([false], [true]),
  ifRevision: mostly([1, 2, 3], [99]),
  maxTimers: mostly([1_000_000], [0, 1]),
  maxBytes: mostly([1e9], [0, 1]),
  dueFrom: mostly(['0', '2027-01-31T09:00:00Z'], ['x', '99999999999999999']),
  dueUntil: mostly(['1794800000000', '2027-01-31T09:00:00Z'], ['0', 'x']),
  from: mostly(['1794800000000', 1e12], ['0', 0, 8.64e15, 'x']),
  limit: mostly(['1', '10', '1000'], ['0', 'x', '1e9', '']),
  cursor: mostly(['WyJsaXN0IiwwLDE3OTQ4MDgxMDU4NzcsMV0'], ['x', '']),
  waitMs: mostly([0, 1, 5], [-1, 'x']),
  tags: mostly([['vip'], []], [['']]),
  traceparent: mostly(['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'], ['x']),
  url: urls,
  name: fc.oneof(fc.uuid(), fc.constantFrom('reports', 'mail', '', 'x y')),
  namespace: mostly(['default'], ['other', '']),
  id: fc.constantFrom('0123456789ab', 'x'),
  handle: fc.constantFrom('t1.ZGVmYXVsdABh.~1.1', 't1.YQBi.~1.1', 'x'),
  receipt: fc.constantFrom('x', 'a.b'),
}

/** Headers and query parameters are absent in most requests, because many of them refuse what else is right. */
const sparse = <Value>(values: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: values })

const requestHeaders: fc.Arbitrary<Record<string, string | undefined>> = fc.record({
  'if-match': sparse(fc.constantFrom('"1"', '"99"', '*', 'x')),
  'if-none-match': sparse(fc.constantFrom('*', '"1"')),
  'idempotency-key': sparse(fc.oneof(fc.uuid(), fc.constantFrom('k1', 'k2', 'k3', 'with space'))),
  'carillon-namespace': sparse(fc.constantFrom('default', 'other', '%', ' ')),
})

/**
 * A body that has one of `in`, `at` and `on`, and rarely a condition: most bodies with more are refused. No request waits
 * for firings.
 */
function tidied(value: unknown, choice: number): unknown {
  if (Array.isArray(value)) return value.map((each, index) => tidied(each, choice + index))
  if (typeof value !== 'object' || value === null) return value
  const times = ['in', 'at', 'on'].filter((name) => Object.hasOwn(value, name))
  const dropped = new Set(times.filter((_, index) => index !== choice % times.length))
  if (choice % 5 > 0) for (const name of ['ifAbsent', 'ifRevision']) dropped.add(name)
  const entries = Object.entries(value).filter(([name]) => !dropped.has(name))
  return Object.fromEntries(
    entries.map(([name, each]) => [name, name === 'waitMs' && each > MAX_WAIT_MS ? MAX_WAIT_MS : each]),
  )
}

/** Requests for an operation. Most match its schemas, some do not. */
function requestsOf(
  path: string,
  method: string,
  { parameters, requestBody }: Operation,
): fc.Arbitrary<Request> {
  const valueOf = ({ name, schema }: Parameter): fc.Arbitrary<unknown> => {
    const plain = fitting(schema, byName)
    const better = byName[name]
    if (better === undefined) return plain
    return fc.oneof({ weight: 8, arbitrary: better }, { weight: 1, arbitrary: plain })
  }
  const of = (where: Parameter['in']): readonly Parameter[] => parameters.filter((each) => each.in === where)
  const record = (where: Parameter['in']): fc.Arbitrary<Record<string, unknown>> =>
    fc.record(
      Object.fromEntries(
        of(where).map((each) => [each.name, where === 'path' ? valueOf(each) : sparse(valueOf(each))]),
      ),
    )
  const schema = requestBody?.content['application/json'].schema
  const values = fc
    .tuple(fitting(schema ?? {}, byName), fc.nat(29))
    .map(([value, choice]) => tidied(value, choice))
  const body =
    schema === undefined
      ? fc.constant(undefined)
      : fc.oneof(
          { weight: 12, arbitrary: values.map((value) => JSON.stringify(value)) },
          { weight: 1, arbitrary: withOneError(values).map((value) => JSON.stringify(value)) },
          { weight: 1, arbitrary: fc.json({ maxDepth: 4 }) },
          { weight: 1, arbitrary: fc.string() },
        )
  return fc
    .tuple(record('path'), record('query'), requestHeaders, body)
    .map(([inPath, query, head, text]) => {
      const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(inPath[name])))
      const search = new URLSearchParams()
      const given = Object.entries(query).filter(([, value]) => value !== undefined)
      for (const [name, value] of given) search.set(name, String(value))
      const known = Object.entries(head).filter(
        ([name, value]) => value !== undefined && parameters.some((each) => each.name === name),
      )
      return {
        method,
        path,
        url: `${filled}?${search.toString()}`,
        headers: Object.fromEntries(known) as Record<string, string>,
        body: text,
      }
    })
}

/** Matching values with one field changed or added. */
function withOneError(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.tuple(values, fc.string(), fc.jsonValue({ maxDepth: 2 })).map(([value, name, other]) => {
    if (typeof value !== 'object' || value === null) return other
    if (Array.isArray(value)) return (value as unknown[]).concat([other])
    const names = Object.keys(value)
    const changed = name.length > 5 ? name : (names[name.length % Math.max(1, names.length)] ?? name)
    return Object.assign({}, value, { [changed]: other })
  })
}

describe('the OpenAPI document', () => {
  it(
    `holds for ${COUNT} random requests: no 5xx, and every answer matches its schema`,
    { timeout: 900_000 },
    async () => {
      await using served = await TestServer.start({ rate: 0 })
      const { url, token } = served
      const document = served.server.openApi as unknown as {
        paths: Record<string, Record<string, Operation>>
      }
      const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => ({
          path,
          method: method.toUpperCase(),
          operation,
        })),
      )
      const any = fc.oneof(
        ...operations.map(({ path, method, operation }) =>
          requestsOf(path, method, dereferenced(operation, document)),
        ),
      )
      const requests = fc.sample(any, { numRuns: COUNT, seed: SEED })
      // A kind that no request changes, so that some firings can be leased.
      await served.call('PUT', '/v1/targets/leased', { type: 'lease' })
      const due = Array.from({ length: 50 }, (_, n) => ({ kind: 'leased', key: `k${n}`, in: 0 }))
      const later = ['a', 'b'].flatMap((kind) => ['1', 'x/y'].map((key) => ({ kind, key, in: '1h' })))
      await served.call('POST', '/v1/batch', [...due, ...later])
      const seen = new Map<string, Set<number>>()
      const faults: string[] = []
      const ask = async (request: Request): Promise<void> => {
        const abort = new AbortController()
        const response = await fetch(url + request.url, {
          method: request.method,
          headers: {
            authorization: `Bearer ${token}`,
            ...(request.body !== undefined && { 'content-type': 'application/json' }),
            ...request.headers,
          },
          ...(request.body !== undefined && { body: request.body }),
          signal: abort.signal,
        })
        const name = `${request.method} ${request.path}`
        seen.set(name, (seen.get(name) ?? new Set()).add(response.status))
        const fault = await faultOf(request, response, document)
        abort.abort()
        if (fault !== undefined) faults.push(`${JSON.stringify(request)} -> ${response.status} ${fault}`)
      }
      for (let at = 0; at < requests.length; at += AT_ONCE)
        await Promise.all(requests.slice(at, at + AT_ONCE).map(ask))
      const names = operations.map(({ method, path }) => `${method} ${path}`)
      // Each route has succeeded, unless it needs an id, a handle, a receipt or a target of an earlier request.
      // A memory store has no backups.
      const needsMore =
        /\{(id|handle|receipt)\}|(GET|DELETE) \/v1\/targets\/\{kind\}|(POST \/v1\/verify|\/v1\/(backup|compact))$/
      const isDone = (name: string): boolean => [...(seen.get(name) ?? [])].some((status) => status < 300)
      const verify = await served.call('GET', '/v1/verify')
      // A failure shows the seed.
      expect({
        seed: SEED,
        faults: faults.slice(0, 10),
        neverSent: names.filter((name) => !seen.has(name)),
        neverDone: names.filter((name) => !isDone(name) && !needsMore.test(name)),
        isWhole: (verify.body as { isWhole: boolean }).isWhole,
      }).toEqual({ seed: SEED, faults: [], neverSent: [], neverDone: [], isWhole: true })
    },
  )

  it('is checked by a validator that finds wrong answers', () => {
    const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }
    expect(misfit(schema, { a: 1 }, {})).toBeUndefined()
    expect(misfit(schema, { a: 1.5 }, {})).toBe('$.a: no integer')
    expect(misfit(schema, {}, {})).toBe('$.a: missing')
    expect(misfit({ anyOf: [{ const: 'x' }, { const: 'y' }] }, 'z', {})).toContain('none of')
  })
})

async function faultOf(
  { method, path }: Request,
  response: Response,
  document: { readonly paths: Record<string, Record<string, Operation>> },
): Promise<string | undefined> {
  if (response.status >= 500) return `is the server's fault: ${await response.text()}`
  // `fetch` shortens a path with the key `..`, so that it names another route.
  if (new URL(response.url).pathname.split('/').length !== path.split('/').length) return undefined
  const type = response.headers.get('content-type')?.split(';')[0] ?? 'nothing'
  const [first] = response.headers.get('content-type') === null ? [] : [type]
  if (response.status === 404 && first === 'application/problem+json') {
    // An empty path parameter makes it another path.
    const { code } = (await response.clone().json()) as { code: string }
    if (code === 'route-unknown') return undefined
  }
  const documented = document.paths[path]![method.toLowerCase()]!.responses[response.status]
  if (documented === undefined) return `is not in the document: ${await response.text()}`
  const content = documented.content?.[type]
  if (content === undefined) return `has the type ${type}`
  if (!type.endsWith('json')) return undefined
  return misfit(content.schema, await response.json(), document)
}
