import { recordLayout } from './timer-records.js'

/** The owners of records besides the workers, which are numbered from 1. */
export const owners = Object.freeze({
  /** Records in the list of free records that all threads share. */
  NOBODY: 0,
  MAX_WORKERS: 1024,
  /** The thread that started the pool. It has no wheel: what it sets, a worker adopts. */
  STARTER: 1025,
  COUNT: 1026,
} as const)

/** A cache line in words. What different threads write is at least this far apart. */
const LINE = 16

/** The words that belong to the whole pool. */
export const poolWords = Object.freeze({
  /** How many records were ever in use. */
  RECORDS: 0,
  /** Rises to wake the metronome. */
  METRONOME_WAKE: LINE,
  /** Until when the metronome sleeps, as an armed tick. 0 while it is looking at the workers. */
  METRONOME_SLEEP: 2 * LINE,
  /** How late the metronome woke a worker at most, in microseconds. */
  METRONOME_DELAY: 2 * LINE + 1,
  METRONOME_BEATS: 2 * LINE + 2,
  /** The largest number of a worker. */
  WORKERS: 2 * LINE + 3,
  /** How often the metronome was late by more than `LATE_MICROS`. */
  METRONOME_LATE: 2 * LINE + 4,
  /** The head of the list of free records: two words, a tag and the first record plus one. */
  FREE: 3 * LINE,
  WORDS: 4 * LINE,
} as const)

/** The words of each worker, on a cache line of its own. */
export const workerWords = Object.freeze({
  /** Rises to wake the worker. */
  WAKE: 0,
  /** When the worker wants to be woken, as an armed tick; 0 for never. */
  NEXT_DUE: 1,
  /** The tick at which the metronome last woke the worker. */
  TIMER_NOW: 2,
  // Statistics. Only the worker writes them.
  SCHEDULED: 3,
  FIRED: 4,
  CANCELLED: 5,
  REMOVED: 6,
  MOVED_HERE: 7,
  FAILED: 8,
  RUNNING: 9,
  WORDS: LINE,
} as const)

/** How many threads can count garbage of one worker without sharing a cache line. */
export const STRIPES = 16
const STRIPE_WORDS = LINE

export interface PoolLayout {
  /** The most timers at once. */
  readonly maxTimers: number
  /** The bytes of each record for a payload that is a string. */
  readonly payloadBytes: number
  /** The number of workers that the pool starts with. */
  readonly workers: number
}

/** The shared memory of a pool. It crosses to another thread as it is. */
export interface PoolMemory extends PoolLayout {
  readonly records: SharedArrayBuffer
  readonly control: SharedArrayBuffer
  /** Distinguishes the handles of this pool from those of others. */
  readonly tag: number
}

export function newPoolMemory(layout: PoolLayout, tag: number): PoolMemory {
  const { maxTimers, payloadBytes, workers } = layout
  const controlWords = poolWords.WORDS + owners.COUNT * (workerWords.WORDS + STRIPES * STRIPE_WORDS)
  return {
    maxTimers,
    payloadBytes,
    workers,
    tag,
    // Pages that are never touched take no memory.
    records: new SharedArrayBuffer(maxTimers * strideOf(layout) * 4),
    control: new SharedArrayBuffer(controlWords * 4),
  }
}

/** The size of a record in words. */
export function strideOf({ payloadBytes }: Pick<PoolLayout, 'payloadBytes'>): number {
  return recordLayout.WORDS + Math.ceil(payloadBytes / 8) * 2
}

export function workerAt(owner: number): number {
  return poolWords.WORDS + owner * workerWords.WORDS
}

export function stripeAt(owner: number, stripe: number): number {
  return poolWords.WORDS + owners.COUNT * workerWords.WORDS + (owner * STRIPES + stripe) * STRIPE_WORDS
}

/** Lets a worker have a turn. */
export function wakeWorker(control: Int32Array, owner: number): void {
  const at = workerAt(owner) + workerWords.WAKE
  Atomics.add(control, at, 1)
  Atomics.notify(control, at)
}
