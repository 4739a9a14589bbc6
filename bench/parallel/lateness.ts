import { Worker } from 'node:worker_threads'
import { heading, line } from './print.js'
import { LateHistogram } from './late-histogram.js'
import { pause, startPool } from './pool.js'

const RATES = [1000, 100_000, 1_000_000]
const WARM_UP_MS = 3000

/** How late tasks start. Beside it the same wheel, driven by `setTimeout` in a thread of its own. */
export async function lateness(seconds: number): Promise<void> {
  heading('lateness of one worker, p50 / p99 in µs')
  for (const rate of RATES) {
    const late = new LateHistogram()
    const plain = new Worker(new URL('./timeout-loop.js', import.meta.url), {
      workerData: { rate, counts: late.counts },
    })
    await pause(WARM_UP_MS)
    late.clear()
    await pause(seconds * 1000)
    const [timeouts, timeoutRate] = [show(late), late.count / seconds]
    await plain.terminate()

    const { pool, shared } = await startPool(1)
    const own = new LateHistogram(shared.late)
    pool.set('keepRate', 0, rate)
    await pause(WARM_UP_MS)
    own.clear()
    await pause(seconds * 1000)
    const note = `setTimeout(1): ${timeouts}; reached ${per(own.count / seconds)}, ${per(timeoutRate)}`
    line(`${rate.toLocaleString('en')} a second`, show(own), note)
    await pool.stop()
  }
}

function show(late: LateHistogram): string {
  return `${late.percentile(0.5)} / ${late.percentile(0.99)}`
}

function per(rate: number): string {
  return `${Math.round(rate).toLocaleString('en')}/s`
}
