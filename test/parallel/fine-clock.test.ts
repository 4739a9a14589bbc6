import { execFile } from 'node:child_process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { Worker } from 'node:worker_threads'
import type * as parallel from 'carillon/parallel'
import { afterEach, describe, expect, it } from 'vitest'
import { AlarmLoop } from '../../src/parallel/fine/alarm-loop.js'
import { alarmAt, alarmWords, NO_ALARM } from '../../src/parallel/fine/alarm-words.js'
import { until } from '../eventually.js'

const built = pathToFileURL(fileURLToPath(new URL('../../dist/parallel/index.js', import.meta.url))).href
const { FineClock } = (await import(built)) as typeof parallel

const clocks: parallel.FineClock[] = []
afterEach(async () => {
  await Promise.all(clocks.splice(0).map((clock) => clock.stop()))
})

async function started(): Promise<{ clock: parallel.FineClock; thread: Worker }> {
  let thread: Worker | undefined
  const note = (worker: Worker): void => void (thread = worker)
  process.on('worker', note)
  const clock = await FineClock.start()
  process.off('worker', note)
  clocks.push(clock)
  return { clock, thread: thread! }
}

describe('a fine clock', () => {
  it('wakes once for each instant, in their order, never early, and not inside the call', async () => {
    const { clock } = await started()
    const from = clock.now()
    const woken: number[] = []
    let early = 0
    for (const delay of [9, 3, 3, 6, 0, -5]) {
      clock.wakeAt(from + delay, () => {
        woken.push(delay)
        if (clock.now() < from + delay) early++
      })
    }
    expect(woken).toEqual([])
    await until('all were woken', () => woken.length === 6)
    // Those that were due already may come before or after each other.
    expect(woken.slice(-4)).toEqual([3, 3, 6, 9])
    expect(early).toBe(0)
    expect(clock.stats.alarms).toBeGreaterThan(0)
  })

  it('wakes at once for an instant long ago, and goes on', async () => {
    const { clock } = await started()
    const woken: string[] = []
    clock.wakeAt(0, () => woken.push('long ago'))
    await until('the first wake has come', () => woken.length === 1)
    clock.wakeAt(clock.now() + 2, () => woken.push('later'))
    await until('the second wake has come', () => woken.length === 2)
    expect(woken).toEqual(['long ago', 'later'])
  })

  it('never wakes after a cancel, also if another wake of the same instant cancels', async () => {
    const { clock } = await started()
    const woken: string[] = []
    const dueAt = clock.now() + 5
    clock.wakeAt(dueAt, () => {
      woken.push('first')
      second.cancel()
    })
    const second = clock.wakeAt(dueAt, () => woken.push('second'))
    clock.wakeAt(dueAt, () => woken.push('third')).cancel()
    clock.wakeAt(dueAt + 1, () => woken.push('last'))
    await until('the last was woken', () => woken.includes('last'))
    expect(woken).toEqual(['first', 'last'])
  })

  it('goes on waking when its thread has ended, and when it was stopped', async () => {
    const { clock, thread } = await started()
    const woken: string[] = []
    clock.wakeAt(clock.now() + 30, () => woken.push('before'))
    await thread.terminate()
    clock.wakeAt(clock.now() + 1, () => woken.push('without'))
    await until('both were woken', () => woken.length === 2)
    expect(woken.toSorted()).toEqual(['before', 'without'])
    clock.wakeAt(clock.now() + 20, () => woken.push('stopped'))
    await clock.stop()
    await until('it was woken', () => woken.includes('stopped'))
  })

  it('keeps the process alive while a wake is pending that shall, and no longer', async () => {
    const program = `
      import { FineClock } from ${JSON.stringify(built)}
      const clock = await FineClock.start()
      clock.wakeAt(clock.now() + 3600000, () => {}, { keepAlive: false })
      clock.wakeAt(clock.now() + 3600000, () => {}).cancel()
      clock.wakeAt(clock.now() + 30, () => console.log('woken'))`
    // As text: a thread cannot have the arguments that say so.
    const ran = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
    expect(ran.stdout).toBe('woken\n')
  })
})

/** A wall clock that is somewhere within its millisecond. Every reading takes some time. */
class SteppedClock {
  micros = 1_800_000_000_000_400
  readonly now = (): number => Math.floor(this.#read() / 1000)
  readonly monotonic = (): number => (this.#read() - 1_700_000_000_000_123) / 1000

  #read(): number {
    return (this.micros += 2)
  }
}

describe('the loop of its thread', () => {
  it('sends an alarm in the millisecond for which it was set, and never before', () => {
    const clock = new SteppedClock()
    const words = new Int32Array(new SharedArrayBuffer(alarmWords.WORDS * 4))
    const sent: number[] = []
    const loop = new AlarmLoop(words, clock, () => sent.push(clock.micros))
    const first = Math.floor(clock.micros / 1000) + 1
    for (let dueAt = first; dueAt < first + 20; dueAt++) {
      words[alarmWords.NEXT] = alarmAt(dueAt, clock.now())
      // It sleeps for less than a millisecond. The clock of this test stands still meanwhile, so it sleeps again.
      while (words[alarmWords.NEXT] !== NO_ALARM) {
        loop.beat()
        clock.micros += 50
      }
    }
    const late = sent.map((micros, at) => micros - (first + at) * 1000)
    expect(late.every((micros) => micros >= 0 && micros < 100)).toBe(true)
    expect(words[alarmWords.SENT]).toBe(20)
  })

  it('sends nothing for an alarm that was replaced meanwhile', () => {
    const clock = new SteppedClock()
    const words = new Int32Array(new SharedArrayBuffer(alarmWords.WORDS * 4))
    let sent = 0
    const later = alarmAt(clock.now() + 1000, clock.now())
    words[alarmWords.NEXT] = alarmAt(clock.now(), clock.now())
    const loop = new AlarmLoop(
      words,
      {
        monotonic: clock.monotonic,
        now: () => {
          words[alarmWords.NEXT] = later
          return clock.now()
        },
      },
      () => sent++,
    )
    loop.beat()
    expect([sent, words[alarmWords.NEXT]]).toEqual([0, later])
  })
})
