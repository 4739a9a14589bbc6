import { describe, expect, it } from 'vitest'
import { defaultRetry, parseRetry, retryDelayMs } from '../../src/timer/index.js'

const HOUR = 3_600_000

/** The waits of the default policy, each drawn with `random`. */
function waits(random: () => number): number[] {
  return Array.from({ length: defaultRetry.attempts - 1 }, (_, n) =>
    retryDelayMs(defaultRetry, n + 1, random),
  )
}

const sum = (all: readonly number[]) => all.reduce((total, each) => total + each, 0)

describe('the default retry policy', () => {
  it('retries for at least a day, however the random waits fall', () => {
    expect(sum(waits(() => 0))).toBeGreaterThanOrEqual(24 * HOUR)
    expect(sum(waits(() => 1 - Number.EPSILON))).toBeLessThanOrEqual(53 * HOUR)
  })

  it('reaches its longest wait, so that the limit has a meaning', () => {
    expect(waits(() => 1 - Number.EPSILON).at(-1)).toBe(defaultRetry.maxMs)
  })

  it('doubles the longest wait from 2 s, and stays at 4 hours from the 14th wait on', () => {
    const longest = waits(() => 1 - Number.EPSILON).map((ms) => ms / 1000)
    const doubling = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192]
    expect(longest).toEqual([...doubling, ...Array.from({ length: 12 }, () => 14_400)])
  })
})

describe('a wait between attempts', () => {
  it('is never shorter than the backoff says, and never longer', () => {
    for (const [backoff, shortest, longest] of [
      ['500ms..2s', 500, 2000],
      ['1s..10m', 1000, 600_000],
      ['5s', 5000, 5000],
      ['3s..4s', 3000, 4000],
    ] as const) {
      const policy = parseRetry({ backoff })
      for (let attempt = 1; attempt <= 60; attempt++) {
        for (const random of [0, 0.3, 1 - Number.EPSILON]) {
          const ms = retryDelayMs(policy, attempt, () => random)
          expect(ms, `${backoff}, attempt ${attempt}`).toBeGreaterThanOrEqual(shortest)
          expect(ms, `${backoff}, attempt ${attempt}`).toBeLessThanOrEqual(longest)
        }
      }
    }
  })

  it('is random from the first one on, and at least half of its limit', () => {
    const policy = parseRetry({ backoff: '1s..10m' })
    for (let attempt = 1; attempt <= 20; attempt++) {
      const limit = Math.min(600_000, 2000 * 2 ** (attempt - 1))
      expect(retryDelayMs(policy, attempt, () => 0)).toBe(limit / 2)
      expect(retryDelayMs(policy, attempt, () => 1 - Number.EPSILON)).toBe(limit)
    }
  })
})
