import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { StoreError } from '../../src/error/index.js'
import { openTimers, timer, type TimerKind, type Timers, type TimersEvent } from '../../src/front/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { testTimers } from '../../src/testing/index.js'
import { troubled } from './troubled-store.js'

const unknown = { name: 'InvalidInputError', code: 'unknown-kind' }
const tick = timer('tick')

/** Every call that accepts the name of a kind. */
const byName: Readonly<Record<string, (timers: Timers, kind: string) => Promise<unknown>>> = {
  list: (timers, kind) => timers.list({ kind }),
  forecast: (timers, kind) => timers.forecast({ kind }),
  history: (timers, kind) => timers.history({ kind }),
  why: (timers, kind) => timers.why(kind, 'a'),
  dead: (timers, kind) => timers.dead({ kind }),
  redrive: (timers, kind) => timers.redrive({ kind }),
  'moveMany by keys': (timers, kind) => timers.moveMany({ kind, keys: ['a'] }, { in: 1 }),
  'moveMany by query': (timers, kind) => timers.moveMany({ kind, keyPrefix: 'a' }, { in: 1 }),
  'cancelMany by keys': (timers, kind) => timers.cancelMany({ kind, keys: ['a'] }),
  'cancelMany by query': (timers, kind) => timers.cancelMany({ kind }, { dryRun: true }),
  'pause a kind': (timers, kind) => timers.pause(kind),
  'pause a timer': (timers, kind) => timers.pause(kind, 'a'),
  'resume a kind': (timers, kind) => timers.resume(kind),
  'resume a timer': (timers, kind) => timers.resume(kind, 'a'),
  move: (timers, kind) => timers.move(kind, 'a', { in: 1 }),
  cancel: (timers, kind) => timers.cancel(kind, 'a'),
  fireNow: (timers, kind) => timers.fireNow(kind, 'a'),
  get: (timers, kind) => timers.get(kind, 'a'),
}

describe('an unknown kind', () => {
  it.each(Object.entries(byName))('is refused by %s, and a known kind is not', async (_, call) => {
    await using timers = await testTimers()
    await expect(call(timers, 'tock')).rejects.toMatchObject(unknown)
    await expect(call(timers, '')).rejects.toMatchObject(unknown)
    await timers.set(tick, 'b', { in: '1h' })
    await expect(call(timers, 'tock')).rejects.toThrow(
      /kind "tock" was set or handled in this namespace; known kinds: tick$/,
    )
    await call(timers, 'tick')
    expect(await timers.get(tick, 'b')).toBeDefined()
  })

  it.each([
    ['a name', 'tick'],
    ['an object that looks like one', { name: 'tick' }],
    ['nothing', undefined],
    ['null', null],
    ['a function', () => 'tick'],
  ])('is refused by set, setMany and handle, which need the kind itself: %s', async (_, given) => {
    await using timers = await testTimers()
    const kind = given as TimerKind<undefined>
    await expect(timers.set(kind, 'a', { in: 1 })).rejects.toMatchObject(unknown)
    await expect(timers.setMany(kind, [{ in: 1 }])).rejects.toMatchObject(unknown)
    expect(() => timers.handle(kind, () => undefined)).toThrowError(expect.objectContaining(unknown))
    expect(() => timers.handleMany(kind, () => undefined)).toThrowError(expect.objectContaining(unknown))
    if (typeof given !== 'string') {
      await expect(timers.cancel(kind, 'a')).rejects.toMatchObject(unknown)
      await expect(timers.move(kind, 'a', { in: 1 })).rejects.toMatchObject(unknown)
      await expect(timers.get(kind, 'a')).rejects.toMatchObject(unknown)
      if (given !== undefined) await expect(timers.list({ kind })).rejects.toMatchObject(unknown)
    }
    expect((await timers.list()).items).toEqual([])
  })
})

describe('a known kind', () => {
  it('was handled, set, or passed as a kind', async () => {
    await using timers = await testTimers()
    timers.handle(timer('handled'), () => undefined)
    await timers.list({ kind: timer('asked for') })
    expect((await timers.list({ kind: 'handled' })).items).toEqual([])
    expect((await timers.list({ kind: 'asked for' })).items).toEqual([])
    expect(await timers.pause('handled')).toBe('paused')
  })

  it('is known in other instances of its namespace, even when it has no more timers', async () => {
    const store = new MemoryStore()
    const open = (namespace = 'default') => openTimers({ store: store.connect(), namespace })
    const [reader, elsewhere, writer, worker] = await Promise.all([
      open(),
      open('else/where'),
      open(),
      open(),
    ])
    await expect(reader.list({ kind: 'tick' })).rejects.toMatchObject(unknown)
    await writer.set(tick, 'a', { in: '1h' })
    expect((await reader.list({ kind: 'tick' })).items).toBeDefined()
    worker.handle(timer('work'), () => undefined)
    await worker.start()
    expect((await reader.dead({ kind: 'work' })).items).toEqual([])
    expect(await writer.cancel(tick, 'a')).toBe('cancelled')
    await expect(elsewhere.list({ kind: 'tick' })).rejects.toMatchObject(unknown)
    const late = await open()
    expect((await late.list({ kind: 'tick' })).items).toEqual([])
    await Promise.all([reader, elsewhere, writer, worker, late].map((timers) => timers.stop()))
  })

  it('is known after a restart', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'carillon-kinds-'))
    try {
      const first = await openTimers({ store: `file:${folder}` })
      await first.set(tick, 'a', { in: '1h' })
      await first.cancel(tick, 'a')
      await first.stop()
      const second = await openTimers({ store: `file:${folder}` })
      expect((await second.list({ kind: 'tick' })).items).toEqual([])
      await expect(second.list({ kind: 'tock' })).rejects.toMatchObject(unknown)
      await second.stop()
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('can be set while the store fails to save its name, which is reported and retried', async () => {
    const store = new MemoryStore()
    let isBad = true
    const events: TimersEvent[] = []
    const through = store.connect()
    const timers = await openTimers({
      store: troubled(through, {
        putSetting: async (...args) => {
          if (isBad) throw new StoreError('store-unavailable', 'not now')
          return await through.putSetting(...args)
        },
      }),
      onEvent: (event) => events.push(event),
    })
    expect(await timers.set(tick, 'a', { in: '1h' })).toMatchObject({ outcome: 'set' })
    expect(events).toMatchObject([{ type: 'store-trouble', call: 'putSetting' }])
    const other = await openTimers({ store: store.connect() })
    await expect(other.list({ kind: 'tick' })).rejects.toMatchObject(unknown)
    isBad = false
    await timers.set(tick, 'b', { in: '1h' })
    await other.list({ kind: 'tick' })
    await Promise.all([timers.stop(), other.stop()])
  })
})
