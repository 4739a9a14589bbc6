import { describe, expect, it } from 'vitest'
import { Mutex } from '../../src/async/index.js'

/** Enough turns of the microtask queue for every promise that can go on. */
async function promisesRun(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
}

describe('a mutex', () => {
  it('lets the first caller through at once', async () => {
    const unlock = await new Mutex().lock()
    expect(unlock).toBeTypeOf('function')
  })

  it('lets callers through one at a time, in order of arrival', async () => {
    const mutex = new Mutex()
    const log: string[] = []
    const run = async (name: string): Promise<void> => {
      const unlock = await mutex.lock()
      log.push(`${name} begins`)
      await promisesRun()
      log.push(`${name} ends`)
      unlock()
    }
    await Promise.all([run('first'), run('second'), run('third')])
    expect(log).toEqual([
      'first begins',
      'first ends',
      'second begins',
      'second ends',
      'third begins',
      'third ends',
    ])
  })

  it('keeps later callers waiting until unlock is called', async () => {
    const mutex = new Mutex()
    const unlock = await mutex.lock()
    let isThrough = false
    const second = mutex.lock().then(() => (isThrough = true))
    await promisesRun()
    expect(isThrough).toBe(false)
    unlock()
    await second
    expect(isThrough).toBe(true)
  })

  it('ignores a second call of the same unlock', async () => {
    const mutex = new Mutex()
    const unlock = await mutex.lock()
    unlock()
    await mutex.lock()
    unlock()
    let isThrough = false
    void mutex.lock().then(() => (isThrough = true))
    await promisesRun()
    expect(isThrough).toBe(false)
  })
})
