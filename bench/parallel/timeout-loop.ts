// A wheel with ticks of 100 µs, driven by setTimeout(1). Each timer is set again when it fires.
import { workerData } from 'node:worker_threads'
import { Wheel } from 'carillon/wheel'
import { Random } from '../harness/random.js'
import { LateHistogram } from './late-histogram.js'

const { rate, counts } = workerData as { readonly rate: number; readonly counts: Uint32Array }
const TICKS_PER_MS = 10
const HORIZON_MS = 2000
const late = new LateHistogram(counts)
const random = new Random(99)
const wheel = new Wheel({ startTick: tickOf(performance.now()) })
const dues = new Float64Array(rate)

function tickOf(ms: number): number {
  return Math.floor(ms * TICKS_PER_MS)
}

function set(index: number): void {
  const due = performance.now() + random.fraction() * HORIZON_MS
  dues[index] = due
  wheel.set(Math.ceil(due * TICKS_PER_MS), index)
}

function fire(index: number): void {
  late.add(performance.now() - dues[index]!)
  set(index)
}

function turn(): void {
  const tick = tickOf(performance.now())
  if (tick > wheel.tick) wheel.advance(tick, fire)
  setTimeout(turn, 1)
}

for (let index = 0; index < rate; index++) set(index)
turn()
