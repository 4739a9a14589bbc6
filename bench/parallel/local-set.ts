import { digits, heading, line } from './print.js'
import { runInEach, startPool } from './pool.js'

/** A set in the worker's own wheel, beside a set of a bare wheel. */
export async function localSet(): Promise<void> {
  heading('a local set, in a worker')
  const { pool, shared } = await startPool(1)
  await runInEach(pool, 1, 'compareSets')
  const [bare = 0, byDelay = 0, byInstant = 0] = shared.costs
  line('Wheel.set of carillon/wheel', `${digits(bare)} ns`)
  line(
    'setAt(task, instant)',
    `${digits(byInstant)} ns`,
    `${digits(byInstant / bare)} × the wheel (goal 1.5)`,
  )
  line('set(task, delay), which reads the clock', `${digits(byDelay)} ns`, `${digits(byDelay / bare)} ×`)
  await pool.stop()
}
