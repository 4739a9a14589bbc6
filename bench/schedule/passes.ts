import process from 'node:process'
import type { Measurement } from '../harness/bench.js'
import { type Kind, kinds } from './kinds.js'

export type Next = (after: number) => number

/** How long a candidate runs: up to `calls` calls per kind, and up to `mostMs` of processor time. */
export interface Effort {
  readonly calls: number
  readonly mostMs: number
}

const FROM = Date.UTC(2026, 0, 1)
const TO = Date.UTC(2036, 0, 1)
const WARMING_CALLS = 20_000
const WARMING_MS = 200
const COMPARED = 12
const INSTANTS = 65_536

/** The name of the metric for random instants. The other metrics have the names of the kinds. */
export const RANDOM = 'at random'

/**
 * Measures every kind in order: each call begins where the last one ended, and after ten years at the start again. With a
 * seed it also measures random instants. The first occurrences of each kind are a check: all candidates must find the
 * same.
 */
export function measureNext(
  open: (kind: Kind) => Next | undefined,
  effort: Effort,
  seed?: number,
): Measurement {
  const metrics: Record<string, number> = {}
  const checks: Record<string, number> = {}
  const notes: string[] = []
  const random: number[] = []
  for (const kind of kinds) {
    const next = open(kind)
    if (next === undefined) {
      notes.push(`cannot express '${kind.name}'`)
      continue
    }
    checks[`the first ${COMPARED} of '${kind.name}'`] = firstOnes(next)
    // Warm-up for every candidate: zones are read and code is compiled.
    timed({ calls: WARMING_CALLS, mostMs: WARMING_MS }, inOrder(next))
    const order = timed(effort, inOrder(next))
    metrics[kind.name] = order.ns
    if (order.calls < effort.calls) notes.push(stopped(kind, order, effort))
    if (seed !== undefined) random.push(timed(effort, atRandom(next, seed)).ns)
  }
  if (random.length > 0) metrics[RANDOM] = random.reduce((sum, ns) => sum + ns, 0) / random.length
  return { metrics, checks, notes }
}

function stopped({ name }: Kind, { calls, ns }: Timed, effort: Effort): string {
  const percent = ((calls / effort.calls) * 100).toFixed(1)
  return (
    `'${name}': stopped after ${effort.mostMs / 1000} s with ${calls.toLocaleString('en')} calls, ${percent} %, ` +
    `${(ns / 1000).toFixed(1)} µs each: all ${effort.calls.toLocaleString('en')} would take about ` +
    `${((effort.calls * ns) / 60e9).toFixed(1)} min`
  )
}

function inOrder(next: Next): () => void {
  let at = FROM
  return () => {
    at = next(at)
    if (!(at < TO)) at = FROM
  }
}

function atRandom(next: Next, seed: number): () => void {
  let state = seed
  const instants = Float64Array.from({ length: INSTANTS }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return FROM + Math.floor((state / 2 ** 32) * (TO - FROM))
  })
  let i = 0
  return () => {
    next(instants[i++ & (INSTANTS - 1)]!)
  }
}

interface Timed {
  readonly ns: number
  readonly calls: number
}

function timed({ calls, mostMs }: Effort, work: () => void): Timed {
  // A clock reading costs as much as one of our calls, so fast calls are timed together.
  const batch = mostMs === Infinity ? calls : 20
  let made = 0
  let spent = 0
  const before = process.cpuUsage()
  while (made < calls && spent < mostMs) {
    for (let i = 0; i < batch; i++) work()
    made += batch
    const { user, system } = process.cpuUsage(before)
    spent = (user + system) / 1000
  }
  return { ns: (spent / made) * 1e6, calls: made }
}

function firstOnes(next: Next): number {
  let at = FROM
  let sum = 0
  for (let i = 0; i < COMPARED; i++) {
    at = next(at)
    sum = (sum * 31 + at / 1000) % 2 ** 40
  }
  return sum
}
