// The module that the workers of the tests load.
import process from 'node:process'
import { attach } from '../../dist/parallel/index.js'

const timers = attach()
const NEWEST = 8
const { ledger, dues, handles, next, doing, threads } = timers.data ?? {}
const self = threads === undefined ? 0 : Atomics.add(threads, 0, 1)

/** What happened to the timer with this number: fired adds 1, cancelled adds 256. */
export function fire(id) {
  if (dues !== undefined && timers.now() < dues[id]) Atomics.add(ledger, id, 1 << 16)
  Atomics.add(ledger, id, 1)
}

export function fail() {
  throw new Error('it failed on purpose')
}

export function echo(text) {
  ledger[0] = text.length
}

/** Runs until somebody writes 9 into its place of the ledger. */
export async function hold(id) {
  while (Atomics.load(ledger, id) !== 9) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** The number of the next timer. It is noted before it is taken. */
function takeId() {
  for (;;) {
    const id = Atomics.load(next, 0)
    doing[self] = id + 1
    if (Atomics.compareExchange(next, 0, id, id + 1) === id) return id
  }
}

export function setMany(count) {
  for (let i = 0; i < count; i++) {
    const id = takeId()
    if (id >= ledger.length) break
    const delay = Math.random() * 60
    dues[id] = timers.now() + delay
    handles[id] = timers.set('fire', delay, id)
    doing[self] = 0
  }
  doing[self] = 0
}

/** Half of the time one of the newest timers: so workers often meet at the same record at the same moment. */
function idOf(count) {
  if (Math.random() < 0.5) return Math.floor(Math.random() * count)
  return Math.max(0, count - 1 - Math.floor(Math.random() * NEWEST))
}

/** Random operations on timers of all workers. */
export function churn(operations) {
  for (let left = operations; left > 0; left--) {
    const choice = Math.random()
    if (choice < 0.4) setMany(1)
    else {
      const id = idOf(Math.min(Atomics.load(next, 0), ledger.length))
      const handle = handles[id]
      if (handle === 0 || handle === undefined) continue
      if (choice < 0.7) {
        doing[self] = id + 1
        if (timers.cancel(handle)) Atomics.add(ledger, id, 256)
        doing[self] = 0
      } else {
        // Only later: so the first due time is a bound that every firing must keep.
        const delay = Math.max(0, dues[id] - timers.now()) + Math.random() * 30
        try {
          if (timers.move(handle, delay)) continue
        } catch (error) {
          if (error.code !== 'timer-busy') throw error
        }
      }
    }
  }
}

/** Sets a timer for an instant, and one for what is no instant. */
export function setAt(id) {
  timers.setAt('fire', timers.now() + 5, id)
  timers.setAt('fire', Number.NaN, id)
}

export function exit() {
  process.exit(1)
}

export function throwLater() {
  setTimeout(() => {
    throw new Error('uncaught on purpose')
  })
}

export function rejectLater() {
  void Promise.reject(new Error('unhandled on purpose'))
}

export function exhaustMemory() {
  const kept = []
  for (;;) kept.push(new Array(10_000).fill(Math.random()))
}

export function blockForEver() {
  for (;;);
}
