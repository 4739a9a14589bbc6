import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ExpiringCache } from '../../src/cache/index.js'
import { DEFAULT_PORT, DEFAULT_STORE } from '../../src/cli/defaults.js'
import { serveFlags, serveHelp } from '../../src/cli/configuration.js'
import { Client } from '../../src/client/index.js'
import { Guard } from '../../src/delivery/webhook/guard.js'
import { lease, webhook } from '../../src/delivery/index.js'
import { engineDefaults, engineSettings } from '../../src/engine/index.js'
import { CarillonError } from '../../src/error/index.js'
import { CONCURRENCY, CONCURRENCY_OF_BATCHES, timersDefaults } from '../../src/front/defaults.js'
import { openTimers, timer } from '../../src/front/index.js'
import { cron, daily, every, monthly, rrule, weekly, yearly } from '../../src/schedule/index.js'
import { termOptionNames } from '../../src/schedule/terms.js'
import * as serverLimits from '../../src/server/defaults.js'
import { serverOptions } from '../../src/server/server-options.js'
import { fileStoreOptions } from '../../src/store/file/file-store-options.js'
import { openStore } from '../../src/store/index.js'
import { optionDefaults as postgresDefaults } from '../../src/store/postgres/defaults.js'
import { postgresStoreOptions } from '../../src/store/postgres/postgres-store-options.js'
import { MAX_WAIT_MS } from '../../src/store/redis/defaults.js'
import { parseRedisUrl } from '../../src/store/redis/net/redis-url.js'
import { redisStoreOptions } from '../../src/store/redis/redis-store-options.js'
import { DEFAULT_SHARDS } from '../../src/store/shard-count.js'
import { testTimers } from '../../src/testing/index.js'
import { formatDuration, VirtualClock } from '../../src/time/index.js'
import { defaultRetry, nameLimits } from '../../src/timer/index.js'
import { WebhookVerifier } from '../../src/webhooks/index.js'
import { TimingWheel, Wheel } from '../../src/wheel/index.js'

/** A call with options. The options are wrong on purpose, so the types cannot allow them. */
type Call = (options: never) => unknown

/** The options that a call knows. It is called with an unknown one, and its error names the others. */
async function optionsOf(call: Call): Promise<string[]> {
  try {
    await call({ 'no such option': 1 } as never)
  } catch (error) {
    const names =
      error instanceof CarillonError ? /(?:it takes|options are) ([\w, ]+)/.exec(error.message) : null
    if (names !== null) return names[1]!.split(', ')
    throw error
  }
  throw new Error('the call accepts an unknown option')
}

const page = (name: string): string => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8')

/** The rows of a table, by its header, as arrays of cells. */
function tableOf(name: string, ...header: readonly string[]): string[][] {
  const lines = page(name).split('\n')
  const cellsOf = (line: string): string[] =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim())
  const rows: string[][][] = []
  for (const [index, line] of lines.entries()) {
    if (!line.startsWith('|') || lines[index - 1]?.startsWith('|') === true) continue
    if (!header.every((cell, column) => cellsOf(line)[column] === cell)) continue
    const end = lines.findIndex((each, at) => at > index && !each.startsWith('|'))
    rows.push(lines.slice(index + 2, end).map(cellsOf))
  }
  return rows.flat()
}

/** The names in backticks of a cell: ['a', 'b'] for "`a`, `b`". */
const namesIn = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)

/** A value as the tables write it. */
function written(value: unknown): string {
  if (typeof value === 'string') return `\`'${value}'\``
  if (typeof value !== 'number') return `\`${String(value)}\``
  return value >= 1 << 20 && value % (1 << 20) === 0
    ? `${value / (1 << 20)} MiB`
    : value.toLocaleString('en-US')
}

describe('the table of engine settings in docs/engine.md', () => {
  const rows = tableOf('engine', 'setting', 'default')

  it('has every setting once', async () => {
    const names = rows.flatMap(([cell]) => namesIn(cell!))
    expect(names.toSorted()).toEqual((await optionsOf(engineSettings)).toSorted())
  })

  it('has the defaults of src/engine/settings.ts', () => {
    const documented = rows.flatMap(([names, defaults]) => {
      const values = defaults!.split('; ')
      return namesIn(names!).map((name, index) => [name, values[index]?.replace(/, or .*/, '')])
    })
    const expected = Object.entries(engineDefaults).map(([name, value]) => [name, written(value)])
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(expected))
  })
})

describe('the tables of docs/timers.md', () => {
  const [openRows, kindRows] = [tableOf('timers', 'option', 'default')].map((rows) => {
    const start = rows.findIndex(([cell]) => cell === '`retry`')
    return [rows.slice(0, start), rows.slice(start)] as const
  })[0]!

  it('have every option of openTimers and of timer once', async () => {
    const names = (rows: readonly string[][]) => rows.flatMap(([cell]) => namesIn(cell!)).toSorted()
    expect(names(openRows)).toEqual((await optionsOf(openTimers)).toSorted())
    expect(names(kindRows)).toEqual((await optionsOf((options) => timer('k', options))).toSorted())
  })

  it('have the defaults of openTimers', () => {
    const documented = new Map(
      openRows.flatMap(([names, values]) => {
        const each = values!.split(', ')
        return namesIn(names!).map(
          (name, index) => [name, (each[index] ?? values!).replace(/`'?|'?`/g, '')] as const,
        )
      }),
    )
    for (const [name, value] of Object.entries(timersDefaults))
      expect([name, documented.get(name)]).toEqual([name, String(value)])
  })

  it('have the defaults of a kind', () => {
    const cells = new Map(kindRows.map(([name, value, about]) => [namesIn(name!)[0], { value, about }]))
    const { attempts, minMs, maxMs } = defaultRetry
    expect(cells.get('retry')!.value).toBe(
      `${attempts} attempts, \`${formatDuration(minMs)}..${formatDuration(maxMs)}\``,
    )
    expect(cells.get('concurrency')!.value).toBe(written(CONCURRENCY))
    expect(cells.get('concurrency')!.about).toContain(
      `(${written(CONCURRENCY_OF_BATCHES)} for \`handleMany\`)`,
    )
  })
})

describe('the table of settings in docs/server.md', () => {
  const rows = tableOf('server', 'flag', 'environment', 'file', 'default')

  it('has every flag once, with its variable and its name in the file', () => {
    expect(rows.map(([flag]) => namesIn(flag!)[0])).toEqual(
      Object.keys(serveFlags).map((flag) => `--${flag}`),
    )
    for (const [flag, variable, name] of rows) {
      const words = namesIn(flag!)[0]!.slice(2).split('-')
      expect(namesIn(variable!)).toEqual([`CARILLON_SERVE_${words.join('_').toUpperCase()}`])
      expect(namesIn(name!)[0]!.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)).toBe(
        words.join('-'),
      )
    }
  })

  it('has the defaults of the server, and so has the help of the command', () => {
    const { corsOrigins, handlers, guard: _, engine: __, clock: ___, ...values } = serverLimits.defaultOptions
    const ofEngine = Object.entries(engineDefaults).map(([name, value]): [string, string | number] => [
      `engine${name[0]!.toUpperCase()}${name.slice(1)}`,
      value,
    ])
    const served = new Set(rows.map(([, , name]) => namesIn(name!)[0]!))
    const defaults = new Map<string, string | number | boolean>([
      ...Object.entries({ ...values, store: DEFAULT_STORE }),
      ...ofEngine.filter(([name]) => name !== 'engineStrategy' && served.has(name)),
    ])
    expect([...corsOrigins, ...handlers]).toEqual([])
    expect(DEFAULT_PORT).toBe(values.port)
    const help = new Map(serveHelp)
    for (const [flag, , name, value] of rows) {
      const expected = defaults.get(namesIn(name!)[0]!)
      if (expected === undefined) continue
      expect([flag, value]).toEqual([flag, `\`${String(expected)}\``])
      expect(help.get(namesIn(flag!)[0]!)).toContain(`(${String(expected)})`)
      defaults.delete(namesIn(name!)[0]!)
    }
    expect([...defaults.keys()]).toEqual([])
  })
})

describe('docs/stores.md', () => {
  it('has a row for every option in a URL of Redis, with its default', async () => {
    const rows = new Map(tableOf('stores', 'in the URL').map(([name, about]) => [namesIn(name!)[0]!, about!]))
    rows.delete('/2')
    const known = await optionsOf(() => parseRedisUrl('redis://host?no-such-option=1'))
    expect([...rows.keys()].toSorted()).toEqual(known.toSorted())
    const { prefix, waitReplicas, waitMs } = parseRedisUrl('redis://host')
    expect(rows.get('prefix')).toContain(`by default \`${prefix}\`;`)
    expect(rows.get('wait')).toContain(`by default ${waitReplicas}`)
    expect(rows.get('waitMs')).toContain(`by default ${waitMs}, at most ${MAX_WAIT_MS};`)
    expect(rows.get('shards')).toContain(`by default ${DEFAULT_SHARDS};`)
  })

  it('has the defaults of a PostgreSQL store', () => {
    const text = page('stores')
    for (const [name, value] of Object.entries(postgresDefaults)) {
      expect(text).toMatch(new RegExp(`\`${name}\`[^.;]*\\b${written(value).replace(/[`']/g, '')}\\b`))
    }
  })
})

it('the terms of docs/schedules.md are the options that every schedule has', () => {
  const names = tableOf('schedules', 'option', 'means').flatMap(([cell]) => namesIn(cell!))
  expect(names).toEqual([...termOptionNames])
})

describe('every option is on its page of docs/', () => {
  const at = { at: '09:00', zone: 'UTC' }
  /** Options that only our own tests use. */
  const internal = new Set(['carriage', 'fileSystem', 'loadDriver'])
  const calls: readonly (readonly [name: string, page: string, call: Call])[] = [
    ['ExpiringCache', 'cache', (options) => new ExpiringCache(options)],
    ['Client', 'client', (options) => new Client('http://host', options)],
    ['webhook', 'webhooks', (options) => webhook('https://host', options)],
    ['guard', 'webhooks', (options) => new Guard(options)],
    ['WebhookVerifier', 'webhooks', (options) => new WebhookVerifier('whsec_', options)],
    ['lease', 'targets', lease],
    ['Server', 'server', serverOptions],
    ['openStore', 'stores', (options) => openStore('memory:', options)],
    ['FileStore', 'stores', fileStoreOptions],
    ['PostgresStore', 'stores', (options) => postgresStoreOptions(options)],
    ['RedisStore', 'stores', (options) => redisStoreOptions(options)],
    ['Wheel', 'wheel', (options) => new Wheel(options)],
    ['TimingWheel', 'wheel', (options) => new TimingWheel(options)],
    ['VirtualClock', 'time', (options) => new VirtualClock(options)],
    ['testTimers', 'timers', testTimers],
    ['every', 'schedules', (options: object) => every('1h', options)],
    ['cron', 'schedules', (options: object) => cron('0 9 * * *', { zone: 'UTC', ...options })],
    [
      'rrule',
      'schedules',
      (options: object) => rrule('FREQ=DAILY', { zone: 'UTC', start: '2027-01-04T09:00', ...options }),
    ],
    ['daily', 'schedules', (options: object) => daily({ ...at, ...options })],
    ['weekly', 'schedules', (options: object) => weekly({ on: 'monday', ...at, ...options })],
    ['monthly', 'schedules', (options: object) => monthly({ day: 1, ...at, ...options })],
    ['yearly', 'schedules', (options: object) => yearly({ month: 1, day: 1, ...at, ...options })],
  ]

  it.each(calls)('%s in docs/%s.md', async (_name, where, call) => {
    const code = [...page(where).matchAll(/```[^]*?```|`[^`\n]+`/g)].join('\n')
    const missing = (await optionsOf(call)).filter(
      (name) => !internal.has(name) && !new RegExp(`\\b${name}\\b`).test(code),
    )
    expect(missing).toEqual([])
  })
})

it('docs/limits.md has the limits of the code', () => {
  const rows = new Map(tableOf('limits', 'what', 'how much').map(([what, much]) => [what, much]))
  const { MAX_BATCH_ROWS, MAX_BATCH_BYTES, MAX_OPEN_NAMESPACES, MAX_EVENT_LISTENERS, MAX_KEPT_ANSWERS } =
    serverLimits
  expect(rows.get('namespace, kind')).toContain(`1 to ${nameLimits.namespaceBytes} bytes`)
  expect(nameLimits.kindBytes).toBe(nameLimits.namespaceBytes)
  expect(rows.get('key')).toBe(`1 to ${nameLimits.keyBytes} bytes`)
  expect(rows.get('tags')).toBe(`${nameLimits.tags}, of 1 to ${nameLimits.tagBytes} bytes`)
  expect(rows.get('a batch over HTTP')).toContain(
    `${written(MAX_BATCH_ROWS)} rows and ${written(MAX_BATCH_BYTES)} `,
  )
  expect(rows.get('namespaces open on an instance')).toBe(written(MAX_OPEN_NAMESPACES))
  expect(rows.get('listeners to events')).toContain(`${MAX_EVENT_LISTENERS} `)
  expect(rows.get('idempotency keys')).toContain(`${written(MAX_KEPT_ANSWERS)} `)
  expect(rows.get('shards')).toContain(`${DEFAULT_SHARDS} for PostgreSQL and Redis`)
})
