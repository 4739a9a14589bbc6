import { engineSettings, type EngineSettings } from '../../../engine/index.js'
import type { Random } from '../../random.js'

/** Draws engine settings such that every limit is reached in some seeds and not in others. */
export function drawSettings(random: Random): EngineSettings {
  const leaseMs = random.whole(2000, 6000)
  const windowMs = random.scaled(500, 20_000)
  const small = (low: number, high: number): number => (random.chance(0.5) ? 1000 : random.scaled(low, high))
  const drawn = engineSettings({
    strategy: random.chance(0.6) ? 'preload' : 'lookahead',
    windowMs,
    minWindowMs: random.whole(100, windowMs),
    lookaheadMs: random.scaled(100, 2000),
    loadIntervalMs: random.whole(1000, 2000),
    minLoadIntervalMs: random.whole(200, 1000),
    maxLoadIntervalMs: random.whole(2000, 8000),
    maxTimers: Math.max(5, small(4, 40)),
    pageRows: small(1, 20),
    writeBatch: small(1, 10),
    maxQueued: random.chance(0.8) ? 1000 : random.whole(3, 20),
    settleMs: random.scaled(100, 2000),
    settleCount: small(1, 20),
    carryAfterMs: random.scaled(300, 6000),
    sweepMs: random.scaled(500, 10_000),
    leaseMs,
    leaseMarginMs: random.whole(50, Math.floor(leaseMs / 4)),
    acquireMs: random.scaled(300, 2000),
    heartbeatMs: random.scaled(400, 2000),
    inboxPollMs: random.scaled(200, 2000),
    requestTimeoutMs: random.scaled(1000, 10_000),
    retryMs: random.scaled(20, 300),
    stallMs: random.whole(2000, 10_000),
    stopMs: random.scaled(200, 5000),
    concurrency: random.chance(0.6) ? 1000 : random.whole(2, 20),
  })
  // Not drawn, so that the seeds that were kept stay as they are.
  const { sweepMs } = drawn
  return { ...drawn, outcomesMs: sweepMs > 3000 ? 1 : 20_000, maxOutcomes: sweepMs > 1000 ? 1000 : 20 }
}
