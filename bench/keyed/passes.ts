import type { Measurement, Task } from '../harness/bench.js'
import { Garbage } from '../harness/garbage.js'
import { Laps } from '../harness/laps.js'
import { collect, Memory } from '../harness/memory.js'
import { Keys } from '../workload/keys.js'
import { HORIZON_TICKS, Script } from '../workload/script.js'
import { Tally } from '../workload/tally.js'
import type { KeyedKind, KeyedSubject } from './subject.js'

const WARM_UP_TIMERS = 50_000
const WARM_UP_TIMES = 8
const LAP_OPS = 256
const HALF = HORIZON_TICKS / 2

/**
 * The two passes of the keyed bench over one structure in simulated time. `bench/keyed.ts` explains the figures. Memory is
 * measured first, in a process that has used no memory yet. Then the same passes run at a small size to warm up the code.
 */
export async function measureKeyed(kind: KeyedKind, { n, seed }: Task): Promise<Measurement> {
  const script = new Script(n, seed)
  const keys = new Keys(script)
  const residentBytes = memoryPass(kind, script, keys)
  const small = new Script(Math.min(n, WARM_UP_TIMERS), seed)
  const smallKeys = new Keys(small)
  let warm: unknown[] = []
  for (let i = 0; i < WARM_UP_TIMES; i++) warm = [passes(kind, small, smallKeys, new Garbage())]
  const garbage = new Garbage()
  const { setMs, setAgainMs, moveMs, halfRemoveMs, removeMs, ticks, operations, ...done } = passes(
    kind,
    script,
    keys,
    garbage,
  )
  await garbage.stop()
  // Kept alive until here: a collection discards the compiled code of a class without a live instance.
  warm.length = 0
  return {
    metrics: {
      set: nsEach(setMs, n),
      remove: nsEach(removeMs, n),
      'set+remove': nsEach(setMs + removeMs, n),
      're-set': nsEach(setAgainMs, n),
      move: nsEach(moveMs, script.movedTo.length),
      fire: nsEach(ticks.totalMs(), done.fired.count),
      'half remove': nsEach(halfRemoveMs, n),
      'tick avg': ticks.averageMs() * 1e3,
      'tick worst': ticks.worstMs() * 1e3,
      'tick no gc': ticks.worstMs(garbage) * 1e3,
      pause: Math.max(...operations.map((laps) => laps.worstMs(garbage))),
      'pause+gc': Math.max(...operations.map((laps) => laps.worstMs())),
      resident: residentBytes / n,
      'gc worst': garbage.worstMs(),
      'gc total': garbage.totalMs(),
    },
    checks: {
      'fired of half': done.fired.count,
      'tokens of half': done.fired.tokens,
      'cancelled after half': done.halfRemoved,
      'cancelled of all': done.removed,
    },
    notes: kind.notes(),
  }
}

/** The resident set is the only measure that counts heaps and buffers of every kind alike. */
function memoryPass(kind: KeyedKind, script: Script, keys: Keys): number {
  const inOrder = keys.inOrder()
  const before = new Memory()
  const subject = kind.open(() => {})
  setAll(subject, script, inOrder)
  const { residentBytes } = new Memory().since(before)
  subject.stop()
  return residentBytes
}

function passes(kind: KeyedKind, script: Script, keys: Keys, garbage: Garbage) {
  const { n, order, movedTo } = script
  const fired = new Tally()
  const ticks = new Laps(HALF)
  const operations: Laps[] = []
  const inLaps = (work: (laps: Laps) => void): number => {
    const laps = new Laps(Math.ceil(n / LAP_OPS) + 1)
    operations.push(laps)
    return garbage.time(() => work(laps))
  }

  // Strings are created right before they are used and released afterwards, as callers do. If the bench held them, every
  // collection would visit them, and that cost would be attributed to the candidate.
  let inOrder = keys.inOrder()
  let toMove = keys.shuffled(order.subarray(0, movedTo.length))
  collect()
  const mixed = kind.open(fired.fire)
  const setMs = inLaps((laps) => setAll(mixed, script, inOrder, laps))
  const moveMs = inLaps((laps) => moveSome(mixed, movedTo, toMove, laps))
  inOrder = []
  toMove = []
  garbage.time(() => tickTo(mixed, HALF, ticks))
  let halfRemoved = 0
  let toRemove = keys.shuffled(order)
  collect()
  const halfRemoveMs = inLaps((laps) => {
    halfRemoved = removeAll(mixed, toRemove, laps)
  })
  toRemove = []
  inOrder = keys.inOrder()
  collect()
  const setAgainMs = inLaps((laps) => setAll(mixed, script, inOrder, laps))
  mixed.stop()

  const live = kind.open(() => {})
  inOrder = keys.inOrder()
  toRemove = keys.shuffled(order)
  setAll(live, script, inOrder)
  collect()
  let removed = 0
  const removeMs = inLaps((laps) => {
    removed = removeAll(live, toRemove, laps)
  })
  live.stop()
  return {
    live,
    setMs,
    moveMs,
    ticks,
    halfRemoveMs,
    setAgainMs,
    removeMs,
    operations,
    fired,
    halfRemoved,
    removed,
  }
}

function nsEach(ms: number, count: number): number {
  return (ms * 1e6) / count
}

function setAll(subject: KeyedSubject, { dueTicks }: Script, keys: readonly string[], laps?: Laps): void {
  laps?.mark()
  for (let i = 0; i < keys.length; i++) {
    subject.set(keys[i]!, i, dueTicks[i]!)
    if (i % LAP_OPS === LAP_OPS - 1) laps?.mark()
  }
  laps?.mark()
}

function moveSome(subject: KeyedSubject, movedTo: Int32Array, keys: readonly string[], laps: Laps): void {
  laps.mark()
  for (let i = 0; i < keys.length; i++) {
    subject.move(keys[i]!, movedTo[i]!)
    if (i % LAP_OPS === LAP_OPS - 1) laps.mark()
  }
  laps.mark()
}

function removeAll(subject: KeyedSubject, keys: readonly string[], laps: Laps): number {
  let removed = 0
  laps.mark()
  for (let i = 0; i < keys.length; i++) {
    if (subject.remove(keys[i]!)) removed++
    if (i % LAP_OPS === LAP_OPS - 1) laps.mark()
  }
  laps.mark()
  return removed
}

function tickTo(subject: KeyedSubject, ticks: number, laps: Laps): void {
  laps.mark()
  for (let tick = 1; tick <= ticks; tick++) {
    subject.tick()
    laps.mark()
  }
}
