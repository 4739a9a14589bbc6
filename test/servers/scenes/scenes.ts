import { setTimeout as sleep } from 'node:timers/promises'
import { FakeClock } from '../fake-clock.js'
import type { Stage } from './stage.js'

const HOUR_MS = 3_600_000

/** A short script with real processes that tries to break one promise. It waits for events, not for fixed times. */
export interface Scene {
  readonly about: string
  readonly shards: number
  readonly attempts: number
  readonly needs?: 'clocks' | 'server-clock' | 'german'
  readonly servers?: readonly string[]
  readonly play: (stage: Stage) => Promise<void>
}

export const scenes: Readonly<Record<string, Scene>> = {
  'clock-ahead': {
    about:
      'the clock of the store and the instance is an hour ahead for a while, then the instance is killed',
    shards: 1,
    attempts: 5,
    needs: 'server-clock',
    servers: ['postgres'],
    async play(stage) {
      const { clock } = stage.server
      const first = await stage.join({ clock })
      await stage.untilOwned(first)
      await stage.untilDone(await stage.set(first, { count: 5, inMs: 100 }))
      clock!.set(HOUR_MS)
      // These timers are due and done while the clock is ahead, so the level rises to the wrong time.
      for (let second = 0; second < 5; second++) {
        await stage.set(first, { count: 5, inMs: HOUR_MS })
        await sleep(1000)
      }
      clock!.set(0)
      const after = await stage.set(first, { count: 5, inMs: 1000 })
      stage.note('done after the step back', String(await stage.untilDone(after)))
      // Wait until the lease was renewed by the right clock. The scene killed-ahead does not wait.
      await sleep(stage.pace.leaseMs)
      await first.kill()
      const second = await stage.join({ clock })
      const later = await stage.set(second, { count: 5, inMs: 1000 })
      stage.note('done after kill -9', String(await stage.untilDone(later)))
    },
  },

  'killed-ahead': {
    about:
      'the clock of the store and the instances is an hour ahead, an owner is killed, and the clock is set right',
    shards: 1,
    attempts: 5,
    needs: 'server-clock',
    servers: ['postgres'],
    async play(stage) {
      const { clock } = stage.server
      const first = await stage.join({ clock })
      await stage.untilOwned(first)
      clock!.set(HOUR_MS)
      const keys = await stage.set(first, { count: 3, work: { waitMs: stage.pace.leaseMs * 2 } })
      await stage.until(() => keys.every((key) => stage.startsOf(key) > 0))
      await sleep(stage.pace.leaseMs)
      await first.kill()
      clock!.set(0)
      // By the right clock, the lease in the store ends in an hour.
      const second = await stage.join({ clock })
      await stage.untilDone(await stage.set(second, { count: 5, inMs: 1000 }))
    },
  },

  'server-ahead': {
    about: "the store's clock is an hour ahead for a while, and an owner is killed meanwhile",
    shards: 4,
    attempts: 5,
    needs: 'server-clock',
    servers: ['postgres'],
    async play(stage) {
      const [first, second] = [await stage.join(), await stage.join()]
      await stage.untilOwned(first, second)
      stage.server.clock!.set(HOUR_MS)
      await sleep(5000)
      await second.kill()
      await sleep(200)
      stage.server.clock!.set(0)
      await stage.untilDone(await stage.set(first, { count: 40, inMs: 1000 }), stage.patienceMs)
    },
  },

  'long-handlers': {
    about:
      'handlers take much longer than stopMs and run once with attempts: 2, while a second instance joins',
    shards: 4,
    attempts: 2,
    async play(stage) {
      const first = await stage.join()
      await stage.untilOwned(first)
      const { stopMs } = stage.pace
      const keys = await stage.set(first, {
        count: 32,
        work: (index) => ({ waitMs: stopMs * (4 + (0.7 * index) / 32) }),
      })
      await stage.until(() => keys.every((key) => stage.startsOf(key) > 0))
      await sleep(stage.pace.carryAfterMs * 1.6)
      await stage.join()
      await stage.untilDone(keys, stage.patienceMs + stopMs * 8)
    },
  },

  'long-kills': {
    about: 'an instance is killed three times during handlers longer than carryAfterMs, with attempts: 5',
    shards: 1,
    attempts: 5,
    async play(stage) {
      let owner = await stage.join()
      await stage.untilOwned(owner)
      const keys = await stage.set(owner, { count: 8, work: { waitMs: stage.pace.carryAfterMs * 3 } })
      for (let kills = 1; kills <= 3; kills++) {
        await stage.until(() => keys.every((key) => stage.startsOf(key) >= kills))
        await sleep(stage.pace.carryAfterMs * 1.6)
        await owner.kill()
        owner = await stage.join()
      }
      await stage.untilDone(keys, stage.patienceMs + stage.pace.carryAfterMs * 4)
      const numbers = new Set(
        keys.map((key) =>
          stage.receiver
            .of(key)
            .inOrder.map(({ attempt }) => attempt)
            .join(' '),
        ),
      )
      stage.note('attempt numbers', [...numbers].join(', '))
    },
  },

  rebalance: {
    about: 'a second instance joins while handlers longer than stopMs run and other timers become due',
    shards: 4,
    attempts: 1000,
    async play(stage) {
      const first = await stage.join()
      await stage.untilOwned(first)
      const { stopMs } = stage.pace
      const long = await stage.set(first, { count: 32, work: { waitMs: stopMs * 4 } })
      await stage.until(() => long.every((key) => stage.startsOf(key) > 0))
      const joining = stage.join()
      const short: string[] = []
      for (let at = 0; at < stopMs * 2.5; at += 100) {
        short.push(...(await stage.set(first, { count: 4 })))
        await sleep(100)
      }
      await joining
      await stage.untilDone([...long, ...short], stage.patienceMs + stopMs * 8)
      // All short timers were due long before the first long handler ended.
      const firstEnd = Math.min(
        ...long.flatMap((key) => stage.receiver.of(key).starts.map(({ endedAt }) => endedAt)),
      )
      const held = short.filter((key) => stage.receiver.of(key).inOrder[0]!.at > firstEnd)
      stage.mustBeNone('held back by the join', held.length)
    },
  },

  blocking: {
    about:
      'two instances share one shard, and its handlers of 15 ms of CPU take longer than the lease in all',
    shards: 1,
    attempts: 3,
    async play(stage) {
      const [first, second] = [await stage.join(), await stage.join()]
      await stage.untilOwned()
      const owner = second.shards.size > 0 ? second : first
      const count = stage.pace.leaseMs * 0.12
      const keys = await stage.set(owner, { count, inMs: 500, work: { cpuMs: 15 } })
      await stage.untilDone(keys, stage.patienceMs + count * 60)
      // A needless repetition may still come.
      await sleep(stage.pace.leaseMs * 2)
      stage.mustBeNone('repeated without a fault', keys.filter((key) => stage.startsOf(key) > 1).length)
    },
  },

  'blocking-cancel': {
    about:
      'each handler blocks for longer than the lease, and another instance cancels timers that have not started',
    shards: 1,
    attempts: 10,
    async play(stage) {
      const owner = await stage.join()
      await stage.untilOwned(owner)
      const other = await stage.join({ handles: false })
      const { leaseMs } = stage.pace
      const keys = await stage.set(owner, { count: 6, inMs: 500, work: { cpuMs: leaseMs * 1.3 } })
      await stage.until(() => keys.some((key) => stage.startsOf(key) > 0))
      const waiting = keys.filter((key) => stage.startsOf(key) === 0)
      const answers = [...(await stage.cancel(other, waiting))]
      // A claimed row is firing until its lease is over. By then it can be cancelled, if nobody else claims it.
      await sleep(leaseMs * 1.2)
      const still = waiting.filter((key, index) => answers[index] === 'firing' && stage.startsOf(key) === 0)
      if (still.length > 0) answers.push(...(await stage.cancel(other, still)))
      for (const answer of new Set(answers))
        stage.note(`cancel answered ${answer}`, answers.filter((one) => one === answer).length)
      // Wait for attempts that the first process may start without a lease.
      await sleep(leaseMs * 1.3 * 3)
    },
  },

  'clock-off': {
    about:
      'the clock of one of three instances is 300 ms ahead, then 900 ms ahead, then 30 s behind, then 30 s ahead',
    shards: 12,
    attempts: 1000,
    needs: 'clocks',
    async play(stage) {
      const clock = new FakeClock()
      const [first, , wrong] = [await stage.join(), await stage.join(), await stage.join({ clock })]
      await stage.untilOwned(wrong)
      for (const offsetMs of [300, 900, -30_000, 30_000]) {
        clock.set(offsetMs)
        await sleep(stage.pace.leaseMs)
        const early = stage.receiver.counts.get('early') ?? 0
        const keys: string[] = []
        // Through an instance with the right clock, and through the wrong one if it still takes calls.
        for (const by of [first, wrong]) keys.push(...(await stage.set(by, { count: 60, inMs: 1500 })))
        await stage.untilDone(keys)
        const stuck = keys.filter((key) => !stage.receiver.of(key).isDone).length
        stage.mustBeNone(`stuck at ${offsetMs} ms`, stuck)
        stage.note(`early at ${offsetMs} ms`, (stage.receiver.counts.get('early') ?? 0) - early)
        const held = wrong.shards.size
        stage.note(`shards of the wrong one at ${offsetMs} ms`, held)
        if (Math.abs(offsetMs) > 500) stage.mustBeNone(`shards held at ${offsetMs} ms`, held)
        clock.set(0)
        await stage.untilOwned(wrong)
        await stage.untilDone(keys)
      }
    },
  },

  starvation: {
    about: 'instances get a tenth of the processor while many handlers of 2 ms of CPU are due',
    shards: 2,
    attempts: 1000,
    async play(stage) {
      const [first, second] = [await stage.join(), await stage.join()]
      const third = await stage.join()
      await stage.untilOwned()
      const { leaseMs } = stage.pace
      const keys: string[] = []
      for (const starved of [first, second, third, first]) {
        const count = leaseMs * 0.2
        const setting = stage.set(starved, { count, inMs: 300, work: { cpuMs: 2 } })
        keys.push(...(await setting))
        await sleep(250)
        // Each pause is far shorter than the lease: this process is slow, not stopped.
        for (let at = 0; at < leaseMs * 2; at += leaseMs / 10) {
          starved.sleep()
          await sleep(leaseMs * 0.09)
          starved.wake()
          await sleep(leaseMs * 0.01)
        }
      }
      await stage.untilDone(keys, stage.patienceMs * 2)
    },
  },

  german: {
    about: 'a PostgreSQL has German messages, and both instances set timers',
    shards: 4,
    attempts: 1000,
    needs: 'german',
    servers: ['postgres'],
    async play(stage) {
      const both = [await stage.join(), await stage.join()]
      await stage.untilOwned(...both)
      const sets: Promise<readonly string[]>[] = []
      for (let round = 0; round < 10; round++) {
        // At the same time, so that requests of one meet writes of the other, which the store first refuses.
        for (const by of both) sets.push(stage.set(by, { count: 3, inMs: 300 }))
        await sleep(50)
      }
      const keys = (await Promise.all(sets)).flat()
      await stage.untilDone(keys)
    },
  },
}
