/**
 * npm run bench parallel: timers and handlers on threads.
 *
 *   npm run bench parallel                                 all parts
 *   npm run bench parallel -- --only throughput,handlers   some parts
 *   npm run bench parallel -- --seconds 5                  how long each rate is measured
 *
 * `core wait` is the part of the time in which a thread was ready to run and its core ran something else. Figures with a
 * large one say more about the machine than about the program.
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { cancel } from './parallel/cancel.js'
import { handlers } from './parallel/handlers.js'
import { idle } from './parallel/idle.js'
import { lateness } from './parallel/lateness.js'
import { localSet } from './parallel/local-set.js'
import { precision } from './parallel/precision.js'
import { throughput } from './parallel/throughput.js'

type Part = (seconds: number) => Promise<void>

const parts: Readonly<Record<string, Part>> = {
  throughput,
  set: localSet,
  cancel,
  lateness,
  idle,
  precision,
  handlers,
}

const { values } = parseArgs({
  options: { only: { type: 'string' }, seconds: { type: 'string', default: '3' } },
})
const names = values.only?.split(',') ?? Object.keys(parts)
const seconds = Number(values.seconds)
const unknown = names.filter((name) => !(name in parts))
if (unknown.length > 0 || !(Number.isInteger(seconds) && seconds >= 1 && seconds <= 600)) {
  process.stderr.write(
    `usage: npm run bench parallel -- [--only ${Object.keys(parts).join(',')}] [--seconds 3]\n`,
  )
  process.exit(2)
}
for (const name of names) await parts[name]!(seconds)
