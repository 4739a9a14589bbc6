import { describe, expect, it } from 'vitest'
import { CELLS, latenessOf, LATENESS_BUCKETS, StepRing } from '../../../src/server/views/step-ring.js'

const one = Array.from({ length: CELLS }, (_, cell) => (cell === 0 ? 1 : 0))

describe('a ring of steps', () => {
  it('adds up what happens within a step, and forgets steps that are too old', () => {
    const ring = new StepRing({ stepMs: 10, steps: 3 })
    ring.add(100, one)
    ring.add(109, one)
    ring.add(120, one)
    expect([10, 11, 12].map((step) => ring.at(step)?.[0])).toEqual([2, undefined, 1])
    ring.add(130, one)
    expect([10, 11, 12, 13].map((step) => ring.at(step)?.[0])).toEqual([undefined, undefined, 1, 1])
    ring.add(109, one)
    expect(ring.at(10)).toBeUndefined()
  })

  it('is empty after a long time without anything', () => {
    const ring = new StepRing({ stepMs: 10, steps: 3 })
    for (let at = 0; at < 30; at += 10) ring.add(at, one)
    ring.add(1_000_000, one)
    expect([99_998, 99_999, 100_000].map((step) => ring.at(step)?.[0])).toEqual([undefined, undefined, 1])
  })
})

describe('the lateness of a step', () => {
  it('is an upper bound of the part that was asked for', () => {
    const buckets = new Array<number>(LATENESS_BUCKETS).fill(0)
    expect(latenessOf(buckets, 0.5)).toBeUndefined()
    buckets[0] = 98
    buckets[7] = 2
    expect([latenessOf(buckets, 0.5), latenessOf(buckets, 0.99)]).toEqual([1, 128])
  })
})
