import type { Measurement, Task } from '../harness/bench.js'
import { Garbage } from '../harness/garbage.js'
import { Laps } from '../harness/laps.js'
import { collect, Memory } from '../harness/memory.js'
import { medianOf } from '../harness/report.js'
import { HORIZON_TICKS, Script } from '../workload/script.js'
import type { Handles, Subject, SubjectKind } from './subject.js'
import { Tally } from '../workload/tally.js'

const WARM_UP_TIMERS = 50_000
const WARM_UP_TIMES = 8
const REPETITIONS = 3
const MAX_REPEATED = 2_000_000

/**
 * The passes of the wheel bench over one structure in simulated time. `bench/wheel.ts` explains the figures. The passes
 * first run at a small size to warm up the code. Then they run three times with new structures, and the median of each
 * figure counts. With many timers they run once.
 */
export async function measureSubject<H>(kind: SubjectKind<H>, { n, seed }: Task): Promise<Measurement> {
  const script = new Script(n, seed)
  const memory = memoryPass(kind, script)
  const warmUp = new Script(Math.min(n, WARM_UP_TIMERS), seed)
  let warm: unknown[] = []
  for (let i = 0; i < WARM_UP_TIMES; i++) {
    warm = [mixedPass, livePass, firePass].map((pass) => pass(kind, warmUp, new Garbage()))
  }
  const garbage = new Garbage()
  const passes: Passed[] = []
  for (let i = 0; i < (n > MAX_REPEATED ? 1 : REPETITIONS); i++) {
    passes.push(passed(kind, script, garbage))
  }
  await garbage.stop()
  // Kept alive until here: a collection discards the compiled code of a class without a live instance.
  warm.length = 0
  const { metrics, checks, notes } = passes[0]!
  if (passes.some((each) => JSON.stringify(each.checks) !== JSON.stringify(checks)))
    throw new Error('the same passes did not do the same work every time')
  return {
    metrics: {
      ...Object.fromEntries(
        Object.keys(metrics).map((name) => [name, medianOf(passes.map((each) => each.metrics[name]!))]),
      ),
      bytes: memory.heldBytes / n,
      resident: memory.residentBytes / n,
      'gc worst': garbage.worstMs(),
      'gc total': garbage.totalMs(),
    },
    checks,
    notes: [...kind.notes, ...notes],
  }
}

interface Passed {
  readonly metrics: Readonly<Record<string, number>>
  readonly checks: Readonly<Record<string, number>>
  readonly notes: readonly string[]
}

/** Runs all passes once, each with a new structure. */
function passed<H>(kind: SubjectKind<H>, script: Script, garbage: Garbage): Passed {
  const { n } = script
  const mixed = mixedPass(kind, script, garbage)
  const live = livePass(kind, script, garbage)
  const all = kind.firesAll ? firePass(kind, script, garbage) : undefined
  const isFine = kind.stepTicks === 1
  return {
    metrics: {
      add: nsEach(mixed.addMs, n),
      're-add': nsEach(mixed.addAgainMs, n),
      move: nsEach(mixed.moveMs, script.movedTo.length),
      fire: nsEach(mixed.laps.totalMs(), mixed.fired.count),
      cancel: nsEach(mixed.cancelMs, n),
      ...(isFine
        ? { 'tick avg': mixed.laps.averageMs() * 1e3, 'tick worst': mixed.laps.worstMs() * 1e3 }
        : {}),
      'live cancel': nsEach(live.cancelMs, n),
      'cancel debt': nsEach(live.debtMs, n),
      ...(all === undefined ? {} : { 'live fire': nsEach(all.laps.totalMs(), n) }),
      ...(all === undefined || !isFine ? {} : { 'live tick worst': all.laps.worstMs() * 1e3 }),
    },
    checks: {
      'fired of half': mixed.fired.count,
      'tokens of half': mixed.fired.tokens,
      ...(kind.knowsStale
        ? { 'cancelled after half': mixed.cancelled, 'cancelled of all': live.cancelled }
        : {}),
      ...(all === undefined ? {} : { 'fired of all': all.fired.count, 'tokens of all': all.fired.tokens }),
    },
    notes: isFine
      ? []
      : [
          `its ticks are ${kind.stepTicks} ms long: ` +
            `${mixed.laps.averageMs().toFixed(2)} ms on average, ${mixed.laps.worstMs().toFixed(2)} ms at worst`,
        ],
  }
}

/** Runs first: later the process could reuse freed memory, which the resident set does not show. */
function memoryPass<H>(kind: SubjectKind<H>, script: Script) {
  const handles = kind.handles(script.n)
  const before = new Memory()
  const subject = kind.open(() => {})
  addAll(subject, script, handles)
  const { heldBytes, residentBytes } = new Memory().since(before)
  const memory = { heldBytes: Math.max(heldBytes, subject.heldBytes?.() ?? 0), residentBytes }
  // Also keeps the structure alive up to here.
  cancelAll(subject, handles, script.n)
  return memory
}

function mixedPass<H>(kind: SubjectKind<H>, script: Script, garbage: Garbage) {
  const { n } = script
  const handles = kind.handles(n)
  const shuffled = kind.handles(n)
  const fired = new Tally()
  const laps = new Laps(HORIZON_TICKS)
  collect()
  const subject = kind.open(fired.fire)
  const addMs = garbage.time(() => addAll(subject, script, handles))
  const moved = script.movedTo.length
  shuffle(handles, script.order, shuffled, 0, moved)
  const moveMs = garbage.time(() => moveSome(subject, script, shuffled))
  const half = HORIZON_TICKS / 2
  garbage.time(() => advanceTo(subject, half, kind.stepTicks, laps))
  shuffle(handles, script.order, shuffled, moved, n)
  let cancelled = 0
  const cancelMs = garbage.time(() => {
    cancelled = cancelAll(subject, shuffled, n)
  })
  const addAgainMs = garbage.time(() => addFrom(subject, half, script, handles))
  return { subject, addMs, moveMs, laps, cancelMs, addAgainMs, cancelled, fired }
}

function livePass<H>(kind: SubjectKind<H>, script: Script, garbage: Garbage) {
  const { n } = script
  const handles = kind.handles(n)
  const shuffled = kind.handles(n)
  const unused = new Tally()
  collect()
  const subject = kind.open(unused.fire)
  addAll(subject, script, handles)
  shuffle(handles, script.order, shuffled)
  let cancelled = 0
  const cancelMs = garbage.time(() => {
    cancelled = cancelAll(subject, shuffled, n)
  })
  const debtMs = garbage.time(() => advanceTo(subject, HORIZON_TICKS, kind.stepTicks))
  if (unused.count > 0) throw new Error(`${unused.count} timers fired after they were cancelled`)
  return { subject, cancelMs, debtMs, cancelled }
}

function firePass<H>(kind: SubjectKind<H>, script: Script, garbage: Garbage) {
  const handles = kind.handles(script.n)
  const fired = new Tally()
  const laps = new Laps(HORIZON_TICKS)
  collect()
  const subject = kind.open(fired.fire)
  addAll(subject, script, handles)
  garbage.time(() => advanceTo(subject, HORIZON_TICKS, kind.stepTicks, laps))
  return { subject, fired, laps }
}

export function nsEach(ms: number, count: number): number {
  return (ms * 1e6) / count
}

export function addAll<H>(subject: Pick<Subject<H>, 'set'>, script: Script, handles: Handles<H>): void {
  addFrom(subject, 0, script, handles)
}

function addFrom<H>(
  subject: Pick<Subject<H>, 'set'>,
  nowTick: number,
  { n, dueTicks }: Script,
  handles: Handles<H>,
): void {
  for (let i = 0; i < n; i++) handles[i] = subject.set(nowTick + dueTicks[i]!, i)
}

/**
 * Puts the handles into random order beforehand, because their lookup is not measured. Only those that the next pass
 * uses: reading the others would push the structure out of the processor's caches.
 */
export function shuffle<H>(
  handles: Handles<H>,
  order: Int32Array,
  shuffled: Handles<H>,
  from = 0,
  until = order.length,
): void {
  for (let i = from; i < until; i++) shuffled[i] = handles[order[i]!]!
}

export function moveSome<H>(
  subject: Pick<Subject<H>, 'move'>,
  { movedTo, order }: Script,
  shuffled: Handles<H>,
): void {
  for (let i = 0; i < movedTo.length; i++) {
    shuffled[i] = subject.move(shuffled[i]!, movedTo[i]!, order[i]!)
  }
}

export function cancelAll<H>(subject: Pick<Subject<H>, 'cancel'>, shuffled: Handles<H>, n: number): number {
  let cancelled = 0
  for (let i = 0; i < n; i++) if (subject.cancel(shuffled[i]!)) cancelled++
  return cancelled
}

function advanceTo<H>(subject: Subject<H>, until: number, step: number, laps?: Laps): void {
  laps?.mark()
  for (let tick = step; tick <= until; tick += step) {
    subject.advance(tick)
    laps?.mark()
  }
}
