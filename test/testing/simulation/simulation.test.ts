import { describe, expect, it } from 'vitest'
import type { EngineOptions } from '../../../src/engine/index.js'
import {
  drawPlan,
  type PromiseName,
  shrink,
  simulate,
  themes,
} from '../../../src/testing/simulation/index.js'
import { smallestOf } from '../../../src/testing/simulation/plan/shrink.js'
import { NaiveEngine } from './naive-engine.js'

const makeEngine = (options: EngineOptions): NaiveEngine => new NaiveEngine(options)

describe('a simulation', () => {
  it('catches a naive engine in most seeds, by several promises', async () => {
    const broken: PromiseName[] = []
    for (let seed = 1; seed <= 40; seed++) {
      const { violations } = await simulate(seed, { makeEngine })
      if (violations[0] !== undefined) broken.push(violations[0].promise)
    }
    expect(broken.length).toBeGreaterThan(20)
    expect(new Set(broken).size).toBeGreaterThan(3)
  })

  it('notices that a timer was lost', async () => {
    const texts: string[] = []
    for (let seed = 1; seed <= 40; seed++) {
      const { violations } = await simulate(seed, { makeEngine, promises: [1] })
      for (const { text } of violations) texts.push(text)
    }
    expect(texts.join('\n')).toMatch(/has not ended/)
  })

  it('gives the same run for the same seed', async () => {
    const first = await simulate(3, { makeEngine, isTraced: true })
    const second = await simulate(3, { makeEngine, isTraced: true })
    expect(first.lines.length).toBeGreaterThan(100)
    expect(second.lines).toEqual(first.lines)
  })

  it('reports a run in which nothing happened as a violation', async () => {
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

  it('injects only the faults of onlyFaults', async () => {
    const { counts } = await simulate(2, { makeEngine, onlyFaults: [] })
    expect(counts['faults']).toBeUndefined()
  })

  it('draws plans of every kind', () => {
    const plans = Array.from({ length: 200 }, (_, seed) => drawPlan(seed))
    const types = new Set(plans.flatMap((plan) => plan.faults.map(({ type }) => type)))
    expect([...types].toSorted()).toEqual(
      [
        'blocks',
        'calls',
        'closed',
        'crash',
        'drift',
        'handlers',
        'jump',
        'partition',
        'pause',
        'power',
        'stop',
        'store-drift',
        'store-jump',
        'wakes',
      ].toSorted(),
    )
    expect(new Set(plans.map((plan) => plan.shardCount)).size).toBe(4)
    expect(new Set(plans.map((plan) => plan.instances.length)).size).toBe(8)
    expect(new Set(plans.map((plan) => plan.settings.strategy)).size).toBe(2)
    expect(plans.some((plan) => plan.settings.maxTimers < 10)).toBe(true)
  })
})

describe('a theme of a simulation', () => {
  const seed = Array.from({ length: 100 }, (_, index) => index).find(
    (candidate) => drawPlan(candidate).themes.length > 2,
  )!

  it('can be left out without changing anything else of the plan', () => {
    const whole = drawPlan(seed)
    const [left, ...others] = whole.themes
    const rest = drawPlan(seed, [left!])
    expect(rest.themes).toEqual(others)
    expect(rest.faults).toEqual(whole.faults.filter(({ theme }) => theme !== left))
    expect(rest.operations).toEqual(whole.operations)
    expect(drawPlan(seed, themes).faults.every(({ theme }) => theme === undefined)).toBe(true)
  })

  it('gives its faults ids that no other fault has', () => {
    for (let candidate = 0; candidate < 200; candidate++) {
      const ids = drawPlan(candidate).faults.map(({ id }) => id)
      expect(new Set(ids).size).toBe(ids.length)
    }
  })
})

describe('shrinking a failing run', () => {
  it('finds the few items that are needed for the failure', async () => {
    const all = Array.from({ length: 40 }, (_, index) => index)
    const runs = { left: 300 }
    const fails = (rest: readonly number[]): Promise<boolean> =>
      Promise.resolve(rest.includes(3) && rest.includes(17) && rest.includes(31))
    expect(await smallestOf(all, fails, runs)).toEqual([3, 17, 31])
    expect(runs.left).toBeGreaterThan(200)
  })

  it('ends with an empty array when no item is needed', async () => {
    expect(await smallestOf([1, 2, 3], () => Promise.resolve(true), { left: 10 })).toEqual([])
  })

  it('stops when its runs are used up', async () => {
    const kept = await smallestOf([1, 2, 3, 4], (rest) => Promise.resolve(rest.includes(4)), { left: 2 })
    expect(kept).toContain(4)
  })

  it('shrinks a failing seed to a run that breaks the same promise', async () => {
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
