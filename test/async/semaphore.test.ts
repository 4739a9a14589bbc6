import { describe, expect, it } from 'vitest'
import { Semaphore } from '../../src/async/index.js'
import { VirtualClock } from '../../src/time/index.js'

describe('a semaphore', () => {
  it('runs no more calls at once than its limit, in order of arrival, also after one that failed', async () => {
    const semaphore = new Semaphore(2)
    const begun: number[] = []
    const ends: ((error?: Error) => void)[] = []
    const calls = Array.from({ length: 5 }, (_, number) =>
      semaphore.run(() => {
        begun.push(number)
        return new Promise<number>((resolve, reject) => {
          ends[number] = (error) => (error === undefined ? resolve(number) : reject(error))
        })
      }),
    )
    await turn()
    expect(begun).toEqual([0, 1])
    ends[1]!(new Error('lost'))
    await expect(calls[1]).rejects.toThrow('lost')
    await turn()
    expect(begun).toEqual([0, 1, 2])
    ends[0]!()
    ends[2]!()
    await turn()
    expect(begun).toEqual([0, 1, 2, 3, 4])
    ends[3]!()
    ends[4]!()
    expect(await Promise.all([calls[0], calls[2], calls[3], calls[4]])).toEqual([0, 2, 3, 4])
    expect(await semaphore.run(() => Promise.resolve('free again'))).toBe('free again')
  })

  it('follows a limit that is raised or lowered while calls wait', async () => {
    const semaphore = new Semaphore(1)
    const begun: number[] = []
    const ends: (() => void)[] = []
    const calls = Array.from({ length: 6 }, (_, number) =>
      semaphore.run(() => {
        begun.push(number)
        return new Promise<void>((resolve) => ends.push(resolve))
      }),
    )
    await turn()
    expect(begun).toEqual([0])
    semaphore.setLimit(4)
    await turn()
    expect(begun).toEqual([0, 1, 2, 3])
    semaphore.setLimit(2)
    ends[0]!()
    ends[1]!()
    await turn()
    expect(begun).toEqual([0, 1, 2, 3])
    ends[2]!()
    await turn()
    expect(begun).toEqual([0, 1, 2, 3, 4])
    for (const end of ends.slice(3)) end()
    await turn()
    ends[5]!()
    await Promise.all(calls)
  })

  it('runs a call beyond the limit once its patience is over, so that hung calls do not block it', async () => {
    const clock = new VirtualClock()
    const semaphore = new Semaphore(1, { clock, ms: 1000 })
    void semaphore.run(() => new Promise(() => undefined))
    const begun: string[] = []
    const run = (name: string): Promise<unknown> => semaphore.run(() => Promise.resolve(begun.push(name)))
    void run('first')
    await clock.advance(500)
    void run('second')
    await clock.advance(499)
    expect(begun).toEqual([])
    await clock.advance(1)
    expect(begun).toEqual(['first'])
    await clock.advance(500)
    expect(begun).toEqual(['first', 'second'])
    expect(clock.pending).toBe(0)
  })

  it('cancels the wake of a call that starts before its patience is over', async () => {
    const clock = new VirtualClock()
    const semaphore = new Semaphore(1, { clock, ms: 1000 })
    const first = semaphore.run(() => Promise.resolve('first'))
    const second = semaphore.run(() => Promise.resolve('second'))
    expect(await Promise.all([first, second])).toEqual(['first', 'second'])
    expect(clock.pending).toBe(0)
  })
})

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}
