import process from 'node:process'
import type { Measurement } from '../harness/bench.js'
import { type Kind, kinds } from './kinds.js'

export type Next = (after: number) => number

/** How far a candidate goes: so many calls per kind, or as many as fit in the processor time if that is less. */
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

/** What the metric of random instants is called, beside those named after the kinds. */
export const RANDOM = 'at random'

/**
 * Every kind in order, each call from where the last one ended and again from the beginning after ten years; with
 * a seed at random instants as well. The first occurrences of each kind are a check: all must find the same.
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
      notes.push(`cannot say '${kind.name}'`)
      continue
    }
    checks[`the first ${COMPARED} of '${kind.name}'`] = firstOnes(next)
    // Zones are read and code is compiled before anything counts, for every candidate.
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
  // A reading of the clock costs as much as one of our calls: the quick ones are timed in one go.
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
