import { describe, expect, it } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { until } from '../eventually.js'
import { MemoryStore } from '../../src/store/index.js'
import { systemClock } from '../../src/time/index.js'
import { builtFront } from './built-front.js'

const { openTimers, timer } = await builtFront()

describe("openTimers with precision 'fine'", () => {
  it.each(['memory:', 'file:'])('fires each timer once and not early on %s', async (store) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'carillon-precision-'))
    const timers = await openTimers({
      store: store === 'file:' ? `file:${folder}` : 'memory:',
      precision: 'fine',
    })
    const kind = timer('exact')
    const fired: string[] = []
    let early = 0
    timers.handle(kind, ({ key, dueAt }) => {
      fired.push(key)
      if (Date.now() < dueAt) early++
    })
    await timers.start()
    const keys = Array.from({ length: 20 }, (_, n) => `k${n}`)
    await timers.setMany(
      kind,
      keys.map((key, n) => ({ key, in: n * 3 })),
    )
    await until('all have fired', () => fired.length === keys.length)
    expect(fired.toSorted()).toEqual(keys.toSorted())
    expect(early).toBe(0)
    // The thread may have begun after these. Node's timers wake the engine until then.
    await until('the thread has woken the engine', async () => {
      const { length } = fired
      await timers.set(kind, `more ${length}`, { in: 5 })
      await until('one more has fired', () => fired.length > length)
      return (await timers.stats()).alarm!.alarms > 0
    })
    expect(early).toBe(0)
    await timers.stop()
    rmSync(folder, { recursive: true })
  })

  it.each([
    [{ store: 'memory:', precision: 'exact' }, "must be 'normal' or 'fine'"],
    [{ store: 'memory:', precision: 'fine', clock: systemClock }, 'leave out clock'],
    [{ store: 'postgres://localhost/none', precision: 'fine' }, 'memory: and file:'],
    [{ store: new MemoryStore(), precision: 'fine' }, 'memory: and file:'],
    [{ store: 'http://localhost:1', precision: 'fine' }, 'precision is an option of the server'],
  ])('refuses what cannot be had: %j', async (options, text) => {
    const refused = openTimers(options as Parameters<typeof openTimers>[0])
    await expect(refused).rejects.toMatchObject({ code: 'invalid-option' })
    await expect(refused).rejects.toThrow(text)
  })

  it('leaves no thread behind if the store cannot be opened', async () => {
    const threads: unknown[] = []
    const note = (worker: { once: (event: 'exit', listener: () => void) => void }): void => {
      threads.push(worker)
      worker.once('exit', () => threads.pop())
    }
    process.on('worker', note)
    const refused = openTimers({ store: 'file:/dev/null/none', precision: 'fine' })
    await expect(refused).rejects.toThrow('/dev/null/none')
    process.off('worker', note)
    await until('the thread has ended', () => threads.length === 0)
  })
})
