import { describe, expect, it } from 'vitest'
import { KeptAnswers } from '../../src/server/http/idempotency/kept-answers.js'
import { VirtualClock } from '../../src/time/index.js'

describe('kept answers', () => {
  it('drops the oldest of the namespace that has the most, and none of another', () => {
    const kept = new KeptAnswers<number>({ clock: new VirtualClock(), limit: 10, ttlMs: 1000 })
    for (let n = 0; n < 3; n++) kept.put('quiet', `q${n}`, n)
    for (let n = 0; n < 100; n++) kept.put('loud', `l${n}`, n)
    expect([0, 1, 2].map((n) => kept.get('quiet', `q${n}`))).toEqual([0, 1, 2])
    expect([92, 93, 99].map((n) => kept.get('loud', `l${n}`))).toEqual([undefined, 93, 99])
  })

  it('forgets an answer when its time is over', async () => {
    const clock = new VirtualClock()
    const kept = new KeptAnswers<number>({ clock, limit: 2, ttlMs: 1000 })
    kept.put('a', 'x', 1)
    await clock.advance(999)
    expect(kept.get('a', 'x')).toBe(1)
    await clock.advance(1)
    expect(kept.get('a', 'x')).toBeUndefined()
    kept.put('a', 'y', 2)
    kept.put('a', 'z', 3)
    // The expired answer does not count.
    expect([kept.get('a', 'y'), kept.get('a', 'z')]).toEqual([2, 3])
  })
})
