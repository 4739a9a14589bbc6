// The module that the workers of the bench load.
import { attach } from 'carillon/parallel'
import { Wheel } from 'carillon/wheel'
import { Random } from '../harness/random.js'
import { LateHistogram } from './late-histogram.js'

/** Memory that the workers share with the bench. Each worker has a place: its order of calling. */
export interface Shared {
  /** How many timers each worker has fired. */
  readonly fired: Int32Array
  readonly late: Uint32Array
  /** Results of single measurements, in nanoseconds. */
  readonly costs: Float64Array
  readonly handles: Float64Array
  readonly places: Int32Array
}

const timers = attach()
const shared = timers.data as Shared
const random = new Random(99)
const late = new LateHistogram(shared.late)
let place = -1
let horizonMs = 0

/** Keeps this many timers pending in this worker: each sets itself again when it fires. */
export function keepFull(count: number): void {
  place = Atomics.add(shared.places, 0, 1)
  horizonMs = 20
  for (let i = 0; i < count; i++) timers.set('again', random.fraction() * horizonMs)
}

export function again(): void {
  shared.fired[place]!++
  timers.set('again', random.fraction() * horizonMs)
}

/** Fires this many timers each second: the mean delay is a second. */
export function keepRate(rate: number): void {
  place = 0
  horizonMs = 2000
  for (let i = 0; i < rate; i++) setLate()
}

export function onLate(due: number): void {
  late.add(timers.now() - due)
  setLate()
}

function setLate(): void {
  const delay = random.fraction() * horizonMs
  timers.set('onLate', delay, timers.now() + delay)
}

/** Holds timers whose handles another thread gets. */
export function hold(count: number): void {
  for (let i = 0; i < count; i++) shared.handles[i] = timers.set('again', '1h')
  place = 0
}

const SETS = 300_000
const ROUNDS = 7

/** What a local set costs, and the set of a bare wheel with the same delays: the best of some rounds each, in turn. */
export function compareSets(): void {
  const delays = Float64Array.from({ length: SETS }, () => 1000 + random.fraction() * 60_000)
  const handles = new Float64Array(SETS)
  const best = [Infinity, Infinity, Infinity]
  for (let round = 0; round < ROUNDS; round++) {
    const wheel = new Wheel()
    best[0] = Math.min(
      best[0]!,
      timed(() => setInWheel(wheel, delays, handles)),
    )
    best[1] = Math.min(
      best[1]!,
      timed(() => setByClock(delays, handles)),
    )
    for (let i = 0; i < SETS; i++) timers.cancel(handles[i]!)
    best[2] = Math.min(
      best[2]!,
      timed(() => setAtTimes(delays, handles)),
    )
    for (let i = 0; i < SETS; i++) timers.cancel(handles[i]!)
  }
  for (const [at, ns] of best.entries()) shared.costs[at] = ns
}

function setInWheel(wheel: Wheel, delays: Float64Array, handles: Float64Array): void {
  for (let i = 0; i < SETS; i++) handles[i] = wheel.set(Math.ceil(delays[i]! * 10), i)
}

function setByClock(delays: Float64Array, handles: Float64Array): void {
  for (let i = 0; i < SETS; i++) handles[i] = timers.set('again', delays[i]!)
}

function setAtTimes(delays: Float64Array, handles: Float64Array): void {
  const now = timers.now()
  for (let i = 0; i < SETS; i++) handles[i] = timers.setAt('again', now + delays[i]!)
}

function timed(work: () => void): number {
  const began = performance.now()
  work()
  return ((performance.now() - began) * 1e6) / SETS
}
