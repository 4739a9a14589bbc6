import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fitting, type JsonSchema, misfit } from './json-schema.js'
import { type LoopDelay, MeasuredProcess } from './measured-process.js'

// CARILLON_REQUESTS=20000 sends more.
const COUNT = Number(process.env['CARILLON_REQUESTS'] ?? 3000)
const AT_ONCE = 16
const WARM_UP = 50 * AT_ONCE
const SEED = 20_261_116
// How much later than an idle process the server's event loop may be, at the 99.9th percentile.
const MAX_EXTRA_DELAY_MS = 50
// The delay of an idle process on a machine that is not overloaded.
const QUIET_MS = 10

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

const durations = fc.constantFrom<unknown>(
  '5m',
  '1h',
  'PT5M',
  0,
  1,
  60_000,
  'soon',
  '',
  '-1s',
  '9999999999d',
  1e300,
  -1,
)
const instants = fc.constantFrom<unknown>(
  '2027-01-31T09:00:00Z',
  '2027-01-31',
  0,
  1e12,
  8.64e15,
  1e300,
  -5,
  'now',
)

/** The guard refuses all of these, so that no test calls another machine. */
const urls = fc.constantFrom('https://127.0.0.1/x', 'http://10.0.0.1/', 'https://[::1]:99/', 'nonsense', '')

const byName: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  kind: fc.constantFrom('a', 'b', 'hello', 'ü', 'nobody'),
  kinds: fc.constantFrom(['a'], ['lease'], ['a', 'b'], []),
  key: fc.constantFrom('1', '2', '3', 'x/y', '%', '..', 'ü'),
  in: durations,
  duration: durations,
  over: fc.constantFrom('1h', '1d', '0', '9999d', 'x'),
  slice: fc.constantFrom('1m', '1h', '0', '1', 'x'),
  at: instants,
  on: fc.constantFrom<unknown>(
    '0 9 * * *',
    '* * * * * *',
    '0 0 30 2 *',
    { type: 'daily', at: '09:00', zone: 'Europe/Paris' },
    { type: 'every', everyMs: 1000 },
    { type: 'rrule', rule: 'FREQ=DAILY;COUNT=2' },
    { type: 'yearly', month: 2, day: 29, at: '02:30', zone: 'America/New_York' },
    { type: 'nothing' },
    { type: '__proto__' },
  ),
  dueFrom: fc.constantFrom('0', '2027-01-31T09:00:00Z', 'x', '99999999999999999'),
  dueUntil: fc.constantFrom('0', '1794800000000', '2027-01-31T09:00:00Z', 'x'),
  from: fc.constantFrom<unknown>('0', '1794800000000', 0, 1e12, 8.64e15, 'x'),
  limit: fc.constantFrom<unknown>('1', '10', '1000', '0', 'x', '1e9', ''),
  cursor: fc.constantFrom('x', 'WyJsaXN0IiwwLDE3OTQ4MDgxMDU4NzcsMV0', ''),
  waitMs: fc.constantFrom<unknown>(0, 1, 5, -1, 'x'),
  url: urls,
  id: fc.constantFrom('0123456789ab', 'x'),
  handle: fc.constantFrom('t1.ZGVmYXVsdABh.~1.1', 't1.YQBi.~1.1', 'x'),
  receipt: fc.constantFrom('x', 'a.b'),
}

/** Requests for an operation. Most match its schemas, some do not. */
function requestsOf(
  path: string,
  method: string,
  { parameters, requestBody }: Operation,
): fc.Arbitrary<Request> {
  const valueOf = ({ name, schema }: Parameter): fc.Arbitrary<unknown> => {
    const better = byName[name]
    return better === undefined ? fitting(schema, byName) : fc.oneof(better, better, fitting(schema, byName))
  }
  const of = (where: Parameter['in']): readonly Parameter[] => parameters.filter((each) => each.in === where)
  const record = (where: Parameter['in'], isWhole: boolean): fc.Arbitrary<Record<string, unknown>> =>
    fc.record(
      Object.fromEntries(of(where).map((each) => [each.name, valueOf(each)])),
      isWhole ? {} : { requiredKeys: [] },
    )
  const schema = requestBody?.content['application/json'].schema
  const body =
    schema === undefined
      ? fc.constant(undefined)
      : fc.oneof(
          { weight: 6, arbitrary: fitting(schema, byName).map((value) => JSON.stringify(value)) },
          {
            weight: 1,
            arbitrary: withOneError(fitting(schema, byName)).map((value) => JSON.stringify(value)),
          },
          { weight: 1, arbitrary: fc.json({ maxDepth: 4 }) },
          { weight: 1, arbitrary: fc.string() },
        )
  const headers = fc.record(
    {
      'if-match': fc.constantFrom('"1"', '"99"', '*', 'x'),
      'if-none-match': fc.constantFrom('*', '"1"'),
      'idempotency-key': fc.constantFrom('k1', 'k2', 'k3', 'with space'),
      'carillon-namespace': fc.constantFrom('default', 'other', '%', ' '),
    },
    { requiredKeys: [] },
  )
  return fc
    .tuple(record('path', true), record('query', false), headers, body)
    .map(([inPath, query, head, text]) => {
      const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(inPath[name])))
      const search = new URLSearchParams()
      for (const [name, value] of Object.entries(query)) search.set(name, String(value))
      const known = Object.entries(head).filter(([name]) => parameters.some((each) => each.name === name))
      return {
        method,
        path,
        url: `${filled}?${search.toString()}`,
        headers: Object.fromEntries(known),
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
    `holds for ${COUNT} random requests: no 5xx, every answer matches its schema, and the event loop is not blocked`,
    { timeout: 900_000 },
    async () => {
      const { process, url, token } = await MeasuredProcess.server('--rate', '0')
      await using served = process
      await using control = MeasuredProcess.idle()
      const document = (await (await fetch(`${url}/v1/openapi.json`)).json()) as {
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
        ...operations.map(({ path, method, operation }) => requestsOf(path, method, operation)),
      )
      const requests = fc.sample(any, { numRuns: COUNT, seed: SEED })
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
      for (let at = 0; at < requests.length; at += AT_ONCE) {
        // Measure only after the code has been compiled.
        if (at === WARM_UP) await Promise.all([served.reset(), control.reset()])
        await Promise.all(requests.slice(at, at + AT_ONCE).map(ask))
      }
      // A 99.9th percentile needs a thousand samples, so repeat the requests until there are enough.
      for (let at = WARM_UP; at < requests.length && (await served.delay()).count <= 1000; at += AT_ONCE) {
        await Promise.all(requests.slice(at, at + AT_ONCE).map(ask))
      }
      const [busy, idle] = await Promise.all([served.delay(), control.delay()])
      expect(faults.slice(0, 10)).toEqual([])
      // Every route was called, and most of them succeeded at least once.
      expect([...seen.keys()].toSorted()).toEqual(
        operations.map(({ method, path }) => `${method} ${path}`).toSorted(),
      )
      const done = [...seen.values()].filter((statuses) => statuses.has(200) || statuses.has(201))
      expect(done.length).toBeGreaterThan(operations.length / 2)
      const verify = await fetch(`${url}/v1/verify`, { headers: { authorization: `Bearer ${token}` } })
      expect(await verify.json()).toMatchObject({ isWhole: true })
      console.log(`event loop, ms: ${shownDelay('server', busy)}; ${shownDelay('idle process', idle)}`)
      expect(busy.count).toBeGreaterThan(1000)
      expect(busy.p999 - idle.p999).toBeLessThanOrEqual(maxExtraDelayMs(idle))
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

/** If even the idle process is late, the machine is overloaded, and a busy process is delayed even more. */
function maxExtraDelayMs({ p999 }: LoopDelay): number {
  return MAX_EXTRA_DELAY_MS * Math.max(1, p999 / QUIET_MS)
}

function shownDelay(who: string, { p50, p99, p999, max }: LoopDelay): string {
  return `${who} p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, p99.9 ${p999.toFixed(1)}, max ${max.toFixed(1)}`
}

async function faultOf(
  { method, path }: Request,
  response: Response,
  document: { readonly paths: Record<string, Record<string, Operation>> },
): Promise<string | undefined> {
  if (response.status >= 500) return `is the server's fault: ${await response.text()}`
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
