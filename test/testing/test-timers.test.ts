import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { Dead } from '../../src/delivery/index.js'
import { timer } from '../../src/front/index.js'
import { daily, every } from '../../src/schedule/index.js'
import { testTimers } from '../../src/testing/index.js'
import { VirtualClock } from '../../src/time/index.js'

const DAY = 86_400_000
const START = Date.UTC(2026, 0, 1)
const trial = timer<{ user: string }>('trial', { retry: { attempts: 3, backoff: '1s..1m' } })

describe('testTimers', () => {
  it('fires the timers that become due while time advances, and lists them', async () => {
    await using timers = await testTimers()
    await timers.set(trial, 'u1', { in: '14d', payload: { user: 'u1' } })
    await timers.set(trial, 'u2', { in: '20d', payload: { user: 'u2' } })
    expect(await timers.next()).toMatchObject({ key: 'u1', dueAt: START + 14 * DAY })
    await timers.advance('13d')
    expect(timers.fired(trial)).toEqual([])
    await timers.advance('1d')
    expect(timers.fired(trial)).toEqual([
      {
        kind: 'trial',
        key: 'u1',
        payload: { user: 'u1' },
        attempt: 1,
        occurrence: 0,
        at: START + 14 * DAY,
        dueAt: START + 14 * DAY,
      },
    ])
    expect(timers.fired('trial')).toHaveLength(1)
    expect(await timers.get(trial, 'u1')).toMatchObject({ state: 'settled' })
    expect(await timers.next()).toMatchObject({ key: 'u2' })
    expect(await timers.cancel(trial, 'u2')).toBe('cancelled')
    expect(await timers.next()).toBe(undefined)
    expect(timers.clock.now()).toBe(START + 14 * DAY)
  })

  it('lets 14 days pass in milliseconds', async () => {
    await using timers = await testTimers()
    await timers.set(trial, 'u1', { in: '14d', payload: { user: 'u1' } })
    await timers.advance('1h')
    // Processor time, because other programs may use the machine meanwhile.
    const before = process.cpuUsage()
    await timers.advance('14d')
    const { user, system } = process.cpuUsage(before)
    expect(timers.fired(trial)).toHaveLength(1)
    expect((user + system) / 1000).toBeLessThan(250)
  })

  it('calls the handler of a kind, retries it, and keeps its dead letters', async () => {
    await using timers = await testTimers()
    const attempts: number[] = []
    timers.handle(trial, ({ attempt, key }) => {
      attempts.push(attempt)
      if (key === 'dies') throw new Dead('hopeless')
      if (attempt < 3) throw new Error('not yet')
    })
    await timers.set(trial, 'u1', { in: '1d', payload: { user: 'u1' } })
    await timers.advance('2d')
    expect(attempts).toEqual([1, 2, 3])
    expect(timers.fired(trial)).toEqual([])
    expect(await timers.get(trial, 'u1')).toBe(undefined)
    await timers.set(trial, 'dies', { in: '1d', payload: { user: 'u1' } })
    await timers.advance('1d')
    expect((await timers.dead()).items).toMatchObject([{ key: 'dies', reason: 'hopeless' }])
  })

  it('runs schedules through daylight-saving changes for years', async () => {
    await using timers = await testTimers({ start: Date.UTC(2026, 0, 1) })
    const digest = timer('digest')
    await timers.set(digest, 'paris', { on: daily({ at: '09:00', zone: 'Europe/Paris' }) })
    await timers.advance('730d')
    const fired = timers.fired(digest)
    expect(fired).toHaveLength(730)
    const hours = new Set(fired.map(({ at }) => new Date(at).getUTCHours()))
    expect([...hours].toSorted((a, b) => a - b)).toEqual([7, 8])
    expect(fired.every(({ at, dueAt }) => at === dueAt)).toBe(true)
  })

  it('gives the same run for the same seed', async () => {
    const runs = []
    for (const seed of [1, 1, 2]) {
      await using timers = await testTimers({ seed })
      const at: number[] = []
      timers.handle(trial, ({ attempt, firedAt }) => {
        at.push(firedAt)
        if (attempt < 3) throw new Error('not yet')
      })
      const { key } = await timers.set(trial, { in: '1m', payload: { user: 'x' } })
      await timers.advance('1h')
      runs.push({ key, at })
    }
    expect(runs[0]).toEqual(runs[1])
    expect(runs[0]).not.toEqual(runs[2])
  })

  it('stops although a handler never ends', async () => {
    const timers = await testTimers()
    let reason: unknown
    timers.handle(timer('stuck'), async ({ signal }) => {
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reason = signal.reason
          reject(signal.reason as Error)
        })
      })
    })
    timers.handle(timer('deaf'), async () => {
      await new Promise(() => undefined)
    })
    await timers.set(timer('stuck'), 'x', { in: 0 })
    await timers.set(timer('deaf'), 'x', { in: 0 })
    await timers.advance('1s')
    expect(await timers.get(timer('stuck'), 'x')).toMatchObject({ state: 'firing' })
    await timers.stop()
    await timers.stop()
    expect(reason).toMatchObject({ code: 'stopped' })
    await expect(timers.set(timer('stuck'), 'y', { in: 0 })).rejects.toMatchObject({ code: 'stopped' })
  })

  it('accepts an existing clock and refuses unknown options', async () => {
    const clock = new VirtualClock({ start: 1000 })
    await using one = await testTimers({ clock })
    await using two = await testTimers({ clock })
    await one.set(timer('t'), 'a', { on: every('10s') })
    await two.set(timer('t'), 'b', { in: '15s' })
    await clock.advance('20s')
    expect(one.fired('t').map(({ at }) => at)).toEqual([10_000, 20_000])
    expect(two.fired('t').map(({ key }) => key)).toEqual(['b'])
    await expect(testTimers({ store: 'file:x' } as never)).rejects.toMatchObject({ code: 'unknown-option' })
  })
})

const program = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timer } from 'carillon'
import { testTimers } from 'carillon/testing'

test('a trial ends after 14 days', async () => {
  const timers = await testTimers()
  const trial = timer('trial')
  await timers.set(trial, 'u1', { in: '14d', payload: { user: 'u1' } })
  const before = performance.now()
  await timers.advance('14d')
  const took = performance.now() - before
  assert.deepEqual(timers.fired(trial).map(({ key, attempt }) => [key, attempt]), [['u1', 1]])
  assert.equal(await timers.next(), undefined)
  // It takes milliseconds on an idle machine. This only checks that nothing waits in real time.
  assert.ok(took < 60_000, \`14 days took \${took} ms\`)
  await timers.stop()
})
`

describe('carillon/testing from the built package', () => {
  it('runs under node:test', () => {
    const root = fileURLToPath(new URL('../..', import.meta.url))
    const folder = mkdtempSync(path.join(root, '.carillon', 'node-test-'))
    try {
      const file = path.join(folder, 'trial.test.mjs')
      writeFileSync(file, program)
      const { NODE_TEST_CONTEXT: _, ...env } = process.env
      const output = execFileSync(process.execPath, ['--test', '--test-reporter=tap', file], {
        encoding: 'utf8',
        env,
      })
      expect(output).toMatch(/^# pass 1$/m)
      expect(output).toMatch(/^# fail 0$/m)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
