import { describe, expect, it } from 'vitest'
import { PeriodicTasks } from '../../src/async/index.js'
import { VirtualClock } from '../../src/time/index.js'

interface Rig {
  readonly clock: VirtualClock
  readonly tasks: PeriodicTasks
  readonly errors: [name: string, message: string][]
}

function rig(): Rig {
  const clock = new VirtualClock()
  const errors: [string, string][] = []
  const tasks = new PeriodicTasks(clock, (name, error) => errors.push([name, (error as Error).message]))
  return { clock, tasks, errors }
}

describe('periodic tasks', () => {
  it('run after each period, and not at once', async () => {
    const { clock, tasks } = rig()
    let runs = 0
    tasks.every(100, 'count', async () => void runs++)
    expect(runs).toBe(0)
    await clock.advance(99)
    expect(runs).toBe(0)
    await clock.advance(1)
    expect(runs).toBe(1)
    await clock.advance(1000)
    expect(runs).toBe(11)
  })

  it('count the period from the end of the last run, so runs of one task never overlap', async () => {
    const { clock, tasks } = rig()
    const startedAt: number[] = []
    tasks.every(100, 'slow', async () => {
      startedAt.push(clock.monotonic())
      await new Promise<void>((resolve) => clock.wakeAfter(250, resolve))
    })
    await clock.advance(1000)
    expect(startedAt).toEqual([100, 450, 800])
  })

  it('report an error under the name of the task, and run it again after its period', async () => {
    const { clock, tasks, errors } = rig()
    let runs = 0
    tasks.every(100, 'sweep', async () => {
      if (++runs === 1) throw new Error('no connection')
    })
    await clock.advance(200)
    expect(runs).toBe(2)
    expect(errors).toEqual([['sweep', 'no connection']])
  })

  it('run a task without a period only once, and do not reject when it fails', async () => {
    const { clock, tasks, errors } = rig()
    await tasks.once('sweep', () => Promise.reject(new Error('no connection')))
    expect(errors).toEqual([['sweep', 'no connection']])
    expect(clock.pending).toBe(0)
  })

  it('do not run after stop', async () => {
    const { clock, tasks } = rig()
    let runs = 0
    tasks.every(100, 'one', async () => void runs++)
    tasks.every(150, 'two', async () => void runs++)
    tasks.stop()
    expect(clock.pending).toBe(0)
    await clock.advance(1000)
    expect(runs).toBe(0)
  })

  it('neither repeat nor report a task that fails after stop', async () => {
    const { clock, tasks, errors } = rig()
    let fail: ((error: Error) => void) | undefined
    tasks.every(100, 'slow', () => new Promise<void>((_, reject) => (fail = reject)))
    await clock.advance(100)
    tasks.stop()
    fail!(new Error('closed'))
    await clock.advance(1000)
    expect(errors).toEqual([])
    expect(clock.pending).toBe(0)
  })
})
