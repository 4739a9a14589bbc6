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
    expect(sum(waits(() => 1 - Number.EPSILON))).toBeLessThanOrEqual(49 * HOUR)
  })

  it('reaches its longest wait, so that the limit has a meaning', () => {
    expect(waits(() => 1 - Number.EPSILON).at(-1)).toBe(defaultRetry.maxMs)
  })

  it('doubles the longest wait from 1 s, and stays at 4 hours from the 15th wait on', () => {
    const longest = waits(() => 1 - Number.EPSILON).map((ms) => ms / 1000)
    const doubling = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192]
    expect(longest).toEqual([...doubling, ...Array.from({ length: 11 }, () => 14_400)])
  })
})

describe('a wait between attempts', () => {
  it('is at least half of the longest one, so that no two attempts follow each other at once', () => {
    const policy = parseRetry({ backoff: '1s..10m' })
    for (let attempt = 1; attempt <= 20; attempt++) {
      const longest = Math.min(600_000, 1000 * 2 ** (attempt - 1))
      expect(retryDelayMs(policy, attempt, () => 0)).toBe(longest / 2)
      expect(retryDelayMs(policy, attempt, () => 1 - Number.EPSILON)).toBe(longest)
    }
  })
})
