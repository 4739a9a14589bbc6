import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { type CancelOutcome, openTimers, timer, type Timers } from '../../src/front/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { VirtualClock } from '../../src/time/index.js'

const kind = timer('raced', { concurrency: 100_000 })

/** A round is a thousand races on each store, in real time. `RACE_ROUNDS=100` makes a hundred thousand. */
const ROUNDS = Number(process.env['RACE_ROUNDS'] ?? 10)

function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** The outcome of each key's cancel, and how often the key was delivered. */
class Tally {
  readonly answers = new Map<string, CancelOutcome>()
  readonly delivered = new Map<string, number>()
  readonly deliveredAfterCancel: string[] = []

  async answered(key: string, answer: Promise<CancelOutcome>): Promise<void> {
    this.answers.set(key, await answer)
  }

  fired(key: string): void {
    if (this.answers.get(key) === 'cancelled') this.deliveredAfterCancel.push(`${key} after it was cancelled`)
    this.delivered.set(key, (this.delivered.get(key) ?? 0) + 1)
  }

  /** After `cancelled` there is no delivery. After any other outcome there is exactly one. */
  check(keys: Iterable<string>): { counts: Record<string, number>; wrong: string[] } {
    const counts: Record<string, number> = {}
    const wrong: string[] = []
    for (const key of keys) {
      const answer = this.answers.get(key) ?? 'none'
      counts[answer] = (counts[answer] ?? 0) + 1
      const times = this.delivered.get(key) ?? 0
      if (times !== (answer === 'cancelled' ? 0 : 1))
        wrong.push(`${key}: ${answer}, delivered ${times} times`)
    }
    return { counts, wrong: [...wrong, ...this.deliveredAfterCancel] }
  }
}

describe('a cancel that races with its firing', () => {
  it('prevents the delivery or reports that it came too late, in 100,000 races in virtual time', async () => {
    const random = seeded(6)
    const clock = new VirtualClock()
    // Calls to the store take up to three milliseconds, so that timers become due while a cancel is in flight.
    const carry = <Answer>(commit: () => Answer): Promise<Answer> =>
      new Promise((resolve, reject) => {
        clock.wakeAfter(Math.floor(random() * 4), () => {
          try {
            resolve(commit())
          } catch (error) {
            reject(error)
          }
        })
      })
    const carriage = {
      carry: <Answer>(_: unknown, commit: () => Answer) => carry(commit),
      wake: (deliver: () => void) => queueMicrotask(deliver),
    }
    const store = new MemoryStore({ clock, carriage })
    const opening = openTimers({ store, clock, history: 'none' })
    await clock.advance(100)
    const timers = await opening
    const tally = new Tally()
    const starting = timers.start()
    await clock.advance('10s')
    await starting
    timers.handle(kind, ({ key }) => {
      tally.fired(key)
      const durationMs = Math.floor(random() * 4)
      if (durationMs === 0) return undefined
      return new Promise<void>((resolve) => {
        clock.wakeAfter(durationMs, resolve)
      })
    })
    const total = 100_000
    const size = 5000
    const keys: string[] = []
    for (let from = 0; from < total; from += size) {
      const batch = Array.from({ length: size }, (_, n) => ({ key: `k${from + n}`, in: 30 + (n % 10) }))
      keys.push(...batch.map(({ key }) => key))
      const setting = timers.setMany(kind, batch)
      await clock.advance(20)
      await setting
      const asked: Promise<void>[] = []
      for (const { key, in: dueIn } of batch) {
        const inMs = dueIn - 20
        // Before, at and after the moment it is due, and while its handler runs.
        clock.wakeAfter(Math.max(0, inMs + Math.floor(random() * 9) - 4), () => {
          asked.push(tally.answered(key, timers.cancel(kind, key)))
        })
      }
      await clock.advance(100)
      await Promise.all(asked)
    }
    await clock.advance('1m')
    const { counts, wrong } = tally.check(keys)
    expect(wrong).toEqual([])
    expect(counts['none']).toBe(undefined)
    for (const answer of ['cancelled', 'firing', 'settled']) expect(counts[answer]).toBeGreaterThan(1000)
    const stopping = timers.stop()
    await clock.advance('20s')
    await stopping
  })

  it('prevents the delivery or reports that it came too late, from an instance that does not own the shard', async () => {
    const clock = new VirtualClock()
    const store = new MemoryStore({ clock, shardCount: 8 })
    const random = seeded(7)
    const tally = new Tally()
    const open = async (): Promise<Timers> => {
      const timers = await openTimers({ store: store.connect(), clock: clock.fork(), history: 'none' })
      timers.handle(kind, ({ key }) => {
        tally.fired(key)
        return new Promise<void>((resolve) => {
          clock.wakeAfter(Math.floor(random() * 4), resolve)
        })
      })
      await timers.start()
      return timers
    }
    const both = [await open(), await open()]
    await clock.advance('10s')
    const keys = Array.from({ length: 4000 }, (_, n) => `k${n}`)
    const setting = both[0]!.setMany(
      kind,
      keys.map((key, n) => ({ key, in: 3000 + (n % 1000) })),
    )
    await clock.advance(1000)
    await setting
    const asked: Promise<void>[] = []
    for (const [n, key] of keys.entries()) {
      clock.wakeAfter(2000 + (n % 1000) + Math.floor(random() * 9) - 4, () => {
        asked.push(tally.answered(key, both[n % 2]!.cancel(kind, key)))
      })
    }
    await clock.advance('20s')
    await Promise.all(asked)
    const { counts, wrong } = tally.check(keys)
    expect(wrong).toEqual([])
    expect(counts['cancelled']).toBeGreaterThan(100)
    expect((counts['firing'] ?? 0) + (counts['settled'] ?? 0)).toBeGreaterThan(100)
    const stopping = Promise.all(both.map((timers) => timers.stop()))
    await clock.advance('20s')
    await stopping
  })

  it.each(['memory', 'file'])(
    'prevents the delivery or reports that it came too late, in real time on a %s store',
    async (where) => {
      const folder = mkdtempSync(path.join(tmpdir(), 'carillon-race-'))
      const timers = await openTimers({
        store: where === 'memory' ? 'memory:' : `file:${folder}/timers`,
        history: 'none',
      })
      try {
        const random = seeded(8)
        const tally = new Tally()
        timers.handle(kind, async ({ key }) => {
          tally.fired(key)
          await new Promise((resolve) => {
            setTimeout(resolve, random() * 20)
          })
        })
        await timers.start()
        const keys: string[] = []
        for (let round = 0; round < ROUNDS; round++) {
          const batch = Array.from({ length: 1000 }, (_, n) => ({
            key: `k${round}-${n}`,
            in: 400 + (n % 50),
          }))
          keys.push(...batch.map(({ key }) => key))
          const set = await timers.setMany(kind, batch)
          const now = Date.now()
          await Promise.all(
            set.map(async ({ key, dueAt, handle }, n) => {
              await new Promise((resolve) => {
                setTimeout(resolve, dueAt - now + random() * 20 - 10)
              })
              tally.answers.set(
                key,
                n % 2 === 0 ? await timers.cancel(kind, key) : await timers.cancel(handle),
              )
            }),
          )
        }
        await new Promise((resolve) => {
          setTimeout(resolve, 200)
        })
        const { counts, wrong } = tally.check(keys)
        expect(wrong).toEqual([])
        // How many there are of each answer depends on the machine. Each cancel has one.
        expect(counts['none']).toBe(undefined)
      } finally {
        await timers.stop()
        rmSync(folder, { recursive: true, force: true })
      }
    },
    60_000 + ROUNDS * 2000,
  )
})
