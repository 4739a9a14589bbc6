import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { StandardSchema, TimersEvent } from '../../src/front/index.js'
import { until } from '../eventually.js'
import { builtFront, handlerModule, Reports } from './built-front.js'

const { every, openTimers, timer } = await builtFront()

interface Work {
  readonly do?: string
  readonly ms?: number
}

const retry = { backoff: '10ms..20ms' }

let folder: string
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'carillon-handler-modules-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Timers whose failed attempts are kept as `key attempt: code or message`. */
async function opened(store: 'memory' | 'file' = 'memory') {
  const failures: string[] = []
  /** How the instance gave up its shard. */
  const ends: string[] = []
  const timers = await openTimers({
    store: store === 'memory' ? 'memory:' : `file:${folder}/store`,
    engine: { stopMs: 500, leaseMs: 2000 },
    logger: false,
    onEvent: (event: TimersEvent) => {
      if (event.type === 'released' || event.type === 'lost') ends.push(event.type)
      if (event.type !== 'failed') return
      const error = event.error as Error & { readonly code?: string }
      failures.push(`${event.firing.key} ${event.firing.attempt}: ${error.code ?? error.message}`)
    },
  })
  return { timers, failures, ends }
}

describe('a handler module on threads', () => {
  it('gets the firing with all its fields, in another thread', async () => {
    const kind = timer<Work & { readonly text: string }>('fields', { retry })
    using reports = new Reports()
    const { timers } = await opened()
    await timers.handle(kind, handlerModule)
    await timers.start()
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const payload = { text: 'größer', list: [1, { two: 2 }], empty: null }
    const set = await timers.set(kind, 'a', { in: 5, payload, tags: ['x', 'y'], traceparent })
    await until('it fired', () => reports.of('ended').length === 1)
    await timers.stop()
    const { firing, isMainThread } = reports.all.find(({ began }) => began === 'a')!
    expect(isMainThread).toBe(false)
    expect(firing).toMatchObject({
      kind: 'fields',
      key: 'a',
      namespace: 'default',
      handle: set.handle,
      dueAt: set.dueAt,
      payload,
      tags: ['x', 'y'],
      attempt: 1,
      occurrence: 0,
      traceparent,
    })
    expect(firing!['id']).toMatch(/^fields\/a\//)
    expect(firing!['lateness']).toBe((firing!['firedAt'] as number) - set.dueAt)
  })

  it.each(['memory', 'file'] as const)(
    'decides by again, end, Dead and RetryAfter, and fails by what it throws (%s store)',
    async (store) => {
      const kind = timer<Work>('outcomes', { retry, concurrency: 10 })
      using reports = new Reports()
      const { timers, failures } = await opened(store)
      await timers.handle(kind, handlerModule, { threads: 2 })
      await timers.start()
      for (const act of ['again', 'dead', 'retryAfter', 'fail', 'throwText'])
        await timers.set(kind, act, { in: 0, payload: { do: act } })
      await timers.set(kind, 'end', { on: every('20ms'), payload: { do: 'end' } })
      const ended = ['again 1', 'again 1', 'end 1', 'fail 2', 'retryAfter 2', 'throwText 2']
      await until('all have ended', () => reports.of('ended').length >= ended.length)
      expect(reports.of('ended')).toEqual(ended)
      await until('nothing is pending', async () => (await timers.stats()).pending === 0)
      expect(failures.toSorted()).toEqual([
        'dead 1: it cannot be done',
        'fail 1: EX',
        'retryAfter 1: not yet',
        'throwText 1: only a text',
      ])
      const { items } = await timers.dead({ kind })
      expect(items.map(({ key, reason }) => `${key}: ${reason}`)).toEqual(['dead: it cannot be done'])
      await timers.stop()
    },
  )

  it.each(['memory', 'file'] as const)(
    'is tried again if its thread dies, and that attempt counts (%s store)',
    async (store) => {
      const kind = timer<Work>('deaths', { retry })
      using reports = new Reports()
      const { timers, failures } = await opened(store)
      await timers.handle(kind, handlerModule)
      await timers.start()
      const ways = ['exit', 'uncaught', 'rejected']
      for (const way of ways) await timers.set(kind, way, { in: 0, payload: { do: way } })
      await until('all have ended', () => reports.of('ended').length === ways.length)
      expect(reports.of('ended')).toEqual(ways.map((way) => `${way} 2`).toSorted())
      await until('all are settled', async () => (await timers.stats()).pending === 0)
      const stats = {
        namespace: 'default',
        kind: 'deaths',
        waiting: 0,
        interrupted: 3,
        timeouts: 0,
        deaths: 3,
      }
      expect((await timers.stats()).threads).toMatchObject([stats])
      await until('the thread was replaced', async () => {
        const [{ threads } = { threads: [] }] = (await timers.stats()).threads
        return threads.length === 1 && threads[0]!.thread === 1 && threads[0]!.ended === 3
      })
      expect(failures.toSorted()).toEqual(ways.map((way) => `${way} 1: handler-interrupted`).toSorted())
      await timers.stop()
    },
  )

  it('is a dead letter if its thread dies at the last attempt', async () => {
    const kind = timer<Work>('last', { retry: { attempts: 1 } })
    const { timers } = await opened()
    await timers.handle(kind, handlerModule)
    await timers.start()
    await timers.set(kind, 'a', { in: 0, payload: { do: 'exit' } })
    await until('it is dead', async () => (await timers.dead({ kind })).items.length === 1)
    expect((await timers.dead({ kind })).items[0]!.reason).toContain('its outcome is unknown')
    await timers.stop()
  })

  it.each(['block', 'blockLater'])(
    'is ended after its timeout if it never yields (%s), and no other firing is lost',
    async (act) => {
      const kind = timer<Work>('blocked', { retry, timeout: '100ms', concurrency: 4 })
      const calm = timer<Work>('calm', { retry, concurrency: 2 })
      using reports = new Reports()
      const { timers, failures } = await opened()
      await timers.handle(kind, handlerModule, { threads: 1 })
      await timers.handle(calm, handlerModule, { threads: 1 })
      await timers.start()
      await timers.set(kind, 'stuck', { in: 0, payload: { do: act } })
      await until('it blocks', () => reports.of('began').includes('stuck 1'))
      for (let i = 0; i < 20; i++) {
        await timers.set(kind, `same ${i}`, { in: 0, payload: {} })
        await timers.set(calm, `calm ${i}`, { in: 0, payload: {} })
      }
      await until('all have ended', () => reports.of('ended').length >= 41)
      // Those that waited in the same thread had not begun: for them, nothing counts.
      expect(failures).toEqual(['stuck 1: handler-timeout'])
      expect(reports.of('ended')).toContain('stuck 2')
      // Each has ended once, and what ran in its own threads was not disturbed.
      const keys = reports.all.flatMap(({ ended }) => ended ?? [])
      expect(new Set(keys).size).toBe(41)
      await until('nothing is pending', async () => (await timers.stats()).pending === 0)
      expect((await timers.dead()).items).toEqual([])
      await timers.stop()
    },
  )

  it('tries again what ran beside a handler that never yields, and counts that attempt', async () => {
    const kind = timer<Work>('beside', { retry, timeout: '300ms', concurrency: 2 })
    using reports = new Reports()
    const { timers, failures } = await opened()
    await timers.handle(kind, handlerModule)
    await timers.start()
    await timers.set(kind, 'stuck', { in: 0, payload: { do: 'blockLater' } })
    await timers.set(kind, 'held', { in: 0, payload: { do: 'hold' } })
    await until('both have ended', () => reports.of('ended').length === 2)
    expect(reports.of('ended')).toEqual(['held 2', 'stuck 2'])
    expect(failures).toContain('stuck 1: handler-timeout')
    await timers.stop()
  })

  it('sees its signal aborted after its timeout, and its thread goes on if it yields', async () => {
    const kind = timer<Work>('aborted', { retry, timeout: '50ms' })
    using reports = new Reports()
    const { timers, failures } = await opened()
    await timers.handle(kind, handlerModule)
    const threads = await reports.threads()
    await timers.start()
    await timers.set(kind, 'a', { in: 0, payload: { do: 'listen' } })
    await until('it has ended', () => reports.of('ended').includes('a 2'))
    expect(reports.all).toContainEqual({ aborted: 'a', code: 'handler-timeout' })
    expect(failures).toEqual(['a 1: handler-timeout'])
    expect(threads).toHaveLength(1)
    expect(await reports.threads()).toEqual(threads)
    await timers.stop()
  })

  it('has its threads ended by stop while it never yields, and is tried again after a restart', async () => {
    const kind = timer<Work>('stopped', { retry })
    using reports = new Reports()
    {
      const { timers, failures, ends } = await opened('file')
      await timers.handle(kind, handlerModule, { threads: 2 })
      await timers.start()
      expect(await reports.threads()).toHaveLength(2)
      await timers.set(kind, 'a', { in: 0, payload: { do: 'block' } })
      await until('it blocks', () => reports.of('began').includes('a 1'))
      await timers.stop()
      expect(await reports.threads()).toEqual([])
      // Its outcome is stored, so the next owner need not wait until this instance counts as gone.
      expect(failures).toEqual(['a 1: handler-interrupted'])
      expect(ends).toEqual(['released'])
    }
    const { timers, failures } = await opened('file')
    await timers.handle(kind, handlerModule)
    await timers.start()
    await until('it has ended', () => reports.of('ended').includes('a 2'))
    expect(failures).toEqual([])
    await timers.stop()
  })

  it('reports its outcome when only its namespace is stopped', async () => {
    const kind = timer<Work>('left', { retry })
    using reports = new Reports()
    const { timers } = await opened()
    await timers.start()
    const other = await timers.within('other')
    await other.handle(kind, handlerModule)
    await other.set(kind, 'a', { in: 0, payload: { do: 'compute', ms: 50 } })
    await until('it began', () => reports.of('began').includes('a 1'))
    await other.stop()
    expect(reports.of('ended')).toEqual(['a 1'])
    expect(await reports.threads()).toEqual([])
    await until('nothing is pending', async () => (await timers.stats()).pending === 0)
    await timers.stop()
  })

  it('keeps the process alive only while it has attempts', async () => {
    const program = `
      import { openTimers, timer } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)}
      const timers = await openTimers({ store: 'memory:' })
      await timers.handle(timer('idle'), new URL(${JSON.stringify(handlerModule.href)}))
      console.log('loaded')`
    const file = path.join(folder, 'program.mjs')
    writeFileSync(file, program)
    const ran = await promisify(execFile)(process.execPath, [file])
    expect(ran.stdout).toBe('loaded\n')
  })
})

describe('handle with a module', () => {
  const kind = timer<Work>('refused')

  it.each([
    [{ threads: 0 }, 'invalid-option', 'from 1 to 1024'],
    [{ threads: 1025 }, 'invalid-option', 'from 1 to 1024'],
    [{ threads: 1.5 }, 'invalid-option', 'from 1 to 1024'],
    [{ transaction: true }, 'invalid-option', 'a transaction cannot cross'],
    [{ workers: 2 }, 'unknown-option', 'threads'],
  ])('refuses the options %o with %s', async (options, code, text) => {
    const timers = await openTimers({ store: 'memory:' })
    const refused = timers.handle(kind, handlerModule, options as object)
    await expect(refused).rejects.toMatchObject({ code, message: expect.stringContaining(text) as string })
    await timers.stop()
  })

  it.each([
    ['does not exist', undefined, 'Cannot find module'],
    ['throws at load', 'throw new Error("broken on purpose")', 'broken on purpose'],
    ['cannot be parsed', 'export default (', 'Unexpected'],
    ['has no default export', 'export const handle = () => {}', 'its default export must be the function'],
    ['ends its thread at load', 'process.exit(1)', 'the thread ended while it loaded the module'],
  ])('refuses a module that %s, and the kind can be handled afterwards', async (_, text, reason) => {
    const file = path.join(folder, 'module.mjs')
    if (text !== undefined) writeFileSync(file, text)
    const timers = await openTimers({ store: 'memory:' })
    const refused = timers.handle(kind, pathToFileURL(file), { threads: 2 })
    await expect(refused).rejects.toMatchObject({
      code: 'handler-module',
      message: expect.stringContaining(reason) as string,
    })
    using reports = new Reports()
    await timers.handle(kind, handlerModule)
    await timers.start()
    await timers.set(kind, 'a', { in: 0, payload: {} })
    await until('it fired', () => reports.of('ended').length === 1)
    await timers.stop()
  })

  it('refuses a function with threads, and a second handler of the kind', async () => {
    const timers = await openTimers({ store: 'memory:' })
    const withThreads = () => timers.handle(kind, () => undefined, { threads: 2 } as object)
    expect(withThreads).toThrow('a function cannot cross to a thread')
    await timers.handle(kind, handlerModule)
    await expect(timers.handle(kind, handlerModule)).rejects.toMatchObject({ code: 'handler-exists' })
    await timers.stop()
    await expect(timers.handle(timer('later'), handlerModule)).rejects.toMatchObject({ code: 'stopped' })
  })

  it('gives the handler what a schema makes of the payload', async () => {
    const schema = schemaOf((value) => ({
      ...(value as Work),
      when: new Date(5),
      many: new Map([[1, 'one']]),
    }))
    const made = timer<Work, Work>('made', { payload: schema })
    const timers = await openTimers({ store: 'memory:' })
    using reports = new Reports()
    await timers.handle(made, handlerModule)
    await timers.start()
    await timers.set(made, 'a', { in: 0, payload: { ms: 1 } })
    await until('it fired', () => reports.of('ended').length === 1)
    const { payload } = reports.all.find(({ began }) => began === 'a')!.firing!
    expect(payload).toEqual({ ms: 1, when: new Date(5), many: new Map([[1, 'one']]) })
    await timers.stop()
  })

  it('makes set refuse a payload that a schema turns into what cannot cross', async () => {
    const schema = schemaOf((value) => ({ ...(value as Work), act: () => undefined }))
    const made = timer<Work, Work>('made', { payload: schema, retry: { attempts: 1 } })
    const timers = await openTimers({ store: 'memory:', logger: false })
    // Set before anybody here knew that the kind runs on threads.
    await timers.set(made, 'early', { in: 0, payload: {} })
    await timers.handle(made, handlerModule)
    const refused = timers.set(made, 'a', { in: 0, payload: {} })
    await expect(refused).rejects.toMatchObject({ code: 'payload-cannot-cross' })
    await timers.start()
    await until('the early one is dead', async () => (await timers.dead({ kind: made })).items.length === 1)
    expect((await timers.dead({ kind: made })).items[0]!.reason).toContain('cannot cross to a thread')
    await timers.stop()
  })
})

function schemaOf(make: (value: unknown) => Work): StandardSchema<Work, Work> {
  return { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: make(value) }) } }
}
