import { expect, it } from 'vitest'
import { engineSettings } from '../../src/engine/index.js'
import { LookaheadPolicy } from '../../src/engine/load/lookahead-policy.js'
import { VirtualClock } from '../../src/time/index.js'

// The next load is planned that late only after the clock was ahead, so seeds hardly ever meet this (mutant 'a shorter
// window does not plan an earlier load').
it('reads rows again that a lowered read level has dropped by the time that the first is due', () => {
  const clock = new VirtualClock()
  const policy = new LookaheadPolicy(engineSettings({ loadIntervalMs: 5000 }), clock)
  policy.loaded(1, false, undefined)
  expect(policy.nextLoadAt()).toBe(clock.now() + 5000)
  policy.lowered(clock.now() + 100)
  expect(policy.nextLoadAt()).toBe(clock.now() + 100)
})

it('does not put off a load that was planned for an earlier time than the lowered read level', () => {
  const clock = new VirtualClock()
  const policy = new LookaheadPolicy(engineSettings({ loadIntervalMs: 5000 }), clock)
  policy.loaded(1, false, clock.now() + 50)
  policy.lowered(clock.now() + 100)
  expect(policy.nextLoadAt()).toBe(clock.now() + 50)
})
