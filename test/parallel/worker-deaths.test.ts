import { describe, expect, it } from 'vitest'
import { builtPool, tasks } from './built.js'
import { churn } from './churn.js'

const { TimerPool } = await builtPool()

// `npm run chaos -- parallel` does the same with 20 million operations and 1,000 deaths.
describe('timers of several threads', () => {
  it('are each fired or cancelled once while workers set, move and cancel each other’s timers', async () => {
    const report = await churn({ Pool: TimerPool, module: tasks, operations: 400_000, deaths: 0 })
    expect(Object.keys(report.fates).toSorted()).toEqual(['cancelled', 'fired'])
    expect(report).toMatchObject({ interrupted: 0 })
  })

  it('survive workers and metronomes that end in every way', async () => {
    const report = await churn({ Pool: TimerPool, module: tasks, operations: 100_000, deaths: 14 })
    expect(Object.keys(report.fates).toSorted()).toEqual(['cancelled', 'fired'])
    expect(Object.keys(report.deaths)).toHaveLength(7)
  })
})
