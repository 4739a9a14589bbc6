import { describe, expect, it } from 'vitest'
import type { EngineOptions } from '../../../src/engine/index.js'
import { drawPlan, type PromiseName, shrink, simulate } from '../../../src/testing/simulation/index.js'
import { smallestOf } from '../../../src/testing/simulation/shrink.js'
import { NaiveEngine } from './naive-engine.js'

const makeEngine = (options: EngineOptions): NaiveEngine => new NaiveEngine(options)

describe('a simulation', () => {
  it('catches an engine that forgets in most seeds, in several ways', async () => {
    const broken: PromiseName[] = []
    for (let seed = 1; seed <= 40; seed++) {
      const { violations } = await simulate(seed, { makeEngine })
      if (violations[0] !== undefined) broken.push(violations[0].promise)
    }
    expect(broken.length).toBeGreaterThan(20)
    expect(new Set(broken).size).toBeGreaterThan(3)
  })

  it('sees that a timer was lost', async () => {
    const texts: string[] = []
    for (let seed = 1; seed <= 40; seed++) {
      const { violations } = await simulate(seed, { makeEngine })
      for (const { promise, text } of violations) if (promise === 1) texts.push(text)
    }
    expect(texts.join('\n')).toMatch(/still stands/)
  })

  it('is the same run for the same seed', async () => {
    const first = await simulate(3, { makeEngine, isTraced: true })
    const second = await simulate(3, { makeEngine, isTraced: true })
    expect(first.lines.length).toBeGreaterThan(100)
    expect(second.lines).toEqual(first.lines)
  })

  it('refuses to call a run good that did nothing', async () => {
    const idle = {
      open: () => Promise.resolve(),
      start: () => Promise.resolve(),
      stop: () => Promise.resolve(),
      submit: (operations: readonly unknown[]) =>
        Promise.resolve(operations.map(() => ({ outcome: 'unknown' as const }))),
    }
    const seed = [1, 2, 3, 4, 5, 6].find((candidate) => !drawPlan(candidate).hasTakeover)!
    const { violations } = await simulate(seed, { makeEngine: () => idle })
    expect(violations[0]?.promise).toBe('activity')
  })

  it('leaves faults out that are not wanted', async () => {
    const { counts } = await simulate(2, { makeEngine, onlyFaults: [] })
    expect(counts['faults']).toBeUndefined()
  })

  it('draws seeds that differ', () => {
    const plans = Array.from({ length: 200 }, (_, seed) => drawPlan(seed))
    const types = new Set(plans.flatMap((plan) => plan.faults.map(({ type }) => type)))
    expect([...types].toSorted()).toEqual(
      [
        'calls',
        'closed',
        'crash',
        'drift',
        'handlers',
        'jump',
        'partition',
        'pause',
        'stop',
        'wakes',
      ].toSorted(),
    )
    expect(new Set(plans.map((plan) => plan.shardCount)).size).toBe(4)
    expect(new Set(plans.map((plan) => plan.instances.length)).size).toBe(4)
    expect(new Set(plans.map((plan) => plan.settings.strategy)).size).toBe(2)
    expect(plans.some((plan) => plan.settings.maxTimers < 10)).toBe(true)
  })
})

describe('shrinking', () => {
  it('finds the few that matter', async () => {
    const all = Array.from({ length: 40 }, (_, index) => index)
    const runs = { left: 300 }
    const fails = (rest: readonly number[]): Promise<boolean> =>
      Promise.resolve(rest.includes(3) && rest.includes(17) && rest.includes(31))
    expect(await smallestOf(all, fails, runs)).toEqual([3, 17, 31])
    expect(runs.left).toBeGreaterThan(200)
  })

  it('ends with nothing when nothing is needed', async () => {
    expect(await smallestOf([1, 2, 3], () => Promise.resolve(true), { left: 10 })).toEqual([])
  })

  it('gives up when its runs are used up', async () => {
    const kept = await smallestOf([1, 2, 3, 4], (rest) => Promise.resolve(rest.includes(4)), { left: 2 })
    expect(kept).toContain(4)
  })

  it('shrinks a failing seed to one that fails alike', async () => {
    const seed = 1
    const whole = await simulate(seed, { makeEngine })
    const shrunk = await shrink(seed, { makeEngine })
    expect(shrunk?.report.violations[0]?.promise).toBe(whole.violations[0]?.promise)
    expect(shrunk!.faults.length).toBeLessThanOrEqual(whole.plan.faults.length)
    expect(shrunk!.operations.length).toBeLessThan(whole.plan.operations.length)
    const again = await simulate(seed, {
      makeEngine,
      onlyFaults: shrunk!.faults,
      onlyOperations: shrunk!.operations,
    })
    expect(again.violations).toEqual(shrunk!.report.violations)
  })
})
