import type { Measurement, Task } from '../harness/bench.js'
import { Garbage } from '../harness/garbage.js'
import { collect, Memory } from '../harness/memory.js'
import { addAll, cancelAll, moveSome, nsEach, shuffle } from './passes.js'
import { Script } from '../workload/script.js'
import { Tally } from '../workload/tally.js'

const WARM_UP_TIMERS = 50_000
const WARM_UP_TIMES = 4

/**
 * Node's own timers. They follow the machine's clock, so there are no simulated ticks. Setting, moving and cancelling is
 * measured without returning to the event loop, so that nothing fires meanwhile. Firing is measured with a burst of 1 ms
 * timers, from the first call to the last.
 */
export async function measureTimeouts({ n, seed }: Task): Promise<Measurement> {
  const script = new Script(n, seed)
  const memory = memoryPass(script)
  const warmUp = new Script(Math.min(n, WARM_UP_TIMERS), seed)
  for (let i = 0; i < WARM_UP_TIMES; i++) {
    setPass(warmUp, new Garbage())
    await burst(warmUp.n, new Garbage())
  }
  const garbage = new Garbage()
  const { addMs, addAgainMs, moveMs, cancelMs } = setPass(script, garbage)
  const { fireMs, fired } = await burst(n, garbage)
  await garbage.stop()
  return {
    metrics: {
      add: nsEach(addMs, n),
      're-add': nsEach(addAgainMs, n),
      move: nsEach(moveMs, script.movedTo.length),
      'live cancel': nsEach(cancelMs, n),
      'live fire': nsEach(fireMs, n),
      bytes: memory.heldBytes / n,
      resident: memory.residentBytes / n,
      'gc worst': garbage.worstMs(),
      'gc total': garbage.totalMs(),
    },
    checks: { 'fired of all': fired.count, 'tokens of all': fired.tokens },
    notes: [
      'move is clearTimeout and setTimeout; live fire is a burst of 1 ms timers, from the first call to the last',
      'cancel with half of the handles stale, and ticks, cannot be measured in simulated time',
    ],
  }
}

const timeouts = {
  fire: (_token: number): void => {},
  set(dueTick: number, token: number): NodeJS.Timeout {
    return setTimeout(this.fire, dueTick, token)
  },
  move(timeout: NodeJS.Timeout, dueTick: number, token: number): NodeJS.Timeout {
    clearTimeout(timeout)
    return setTimeout(this.fire, dueTick, token)
  },
  cancel(timeout: NodeJS.Timeout): boolean {
    clearTimeout(timeout)
    return true
  },
}

function memoryPass(script: Script) {
  const handles = roomFor(script.n)
  const before = new Memory()
  addAll(timeouts, script, handles)
  const memory = new Memory().since(before)
  cancelAll(timeouts, handles, script.n)
  return memory
}

function setPass(script: Script, garbage: Garbage) {
  const { n } = script
  const handles = roomFor(n)
  const shuffled = roomFor(n)
  collect()
  const addMs = garbage.time(() => addAll(timeouts, script, handles))
  shuffle(handles, script.order, shuffled)
  const moveMs = garbage.time(() => moveSome(timeouts, script, shuffled))
  const cancelMs = garbage.time(() => cancelAll(timeouts, shuffled, n))
  const addAgainMs = garbage.time(() => addAll(timeouts, script, handles))
  cancelAll(timeouts, handles, n)
  return { addMs, moveMs, cancelMs, addAgainMs }
}

function roomFor(n: number): NodeJS.Timeout[] {
  const none = setTimeout(() => {}, 1)
  clearTimeout(none)
  return Array.from({ length: n }, () => none)
}

async function burst(n: number, garbage: Garbage): Promise<{ fireMs: number; fired: Tally }> {
  collect()
  const fired = new Tally()
  return await new Promise((resolve) => {
    let from = 0
    const fire = (token: number): void => {
      if (token === 0) from = performance.now()
      fired.fire(token)
      if (token < n - 1) return
      const until = performance.now()
      garbage.count(from, until)
      resolve({ fireMs: until - from, fired })
    }
    // Node keeps all timers of one delay in one list, and fires them in the order in which they were set.
    for (let token = 0; token < n; token++) setTimeout(fire, 1, token)
  })
}
