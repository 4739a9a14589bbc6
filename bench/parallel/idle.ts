import process from 'node:process'
import { heading, line, percent } from './print.js'
import { pause, startPool } from './pool.js'

const TIMERS = 100_000

/** What a pool costs while nothing is due. */
export async function idle(seconds: number): Promise<void> {
  heading(`two workers and the metronome with ${TIMERS.toLocaleString('en')} timers, none due`)
  const { pool } = await startPool(2)
  for (let i = 0; i < TIMERS; i++) pool.set('again', '1h')
  await pause(1000)
  const { metronomeBeats } = pool.stats()
  const before = process.cpuUsage()
  const began = performance.now()
  await pause(seconds * 1000)
  const { user, system } = process.cpuUsage(before)
  const share = (user + system) / 1000 / (performance.now() - began)
  const beats = pool.stats().metronomeBeats - metronomeBeats
  line('processor time of the whole process', percent(share), `of a core (goal 1 %), ${beats} beats`)
  await pool.stop()
}
