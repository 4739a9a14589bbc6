// npm run hunt [-- --seed 1 --rules 10000 --slowest 12 --processes 5]: generates random schedules and finds those whose
// `next` is slow, in a warm process and in new processes.
import path from 'node:path'
import process from 'node:process'
import { run, runnable } from './ready.mjs'

const usage = `usage: npm run hunt -- [options]

  --seed N        the seed of the random rules, default 1
  --rules N       how many rules to generate, default 10000
  --slowest N     how many of the slowest to measure again in new processes, default 12
  --processes N   how many new processes for each; the fastest counts, default 5
`
const args = process.argv.slice(2)
if (args.includes('--help') || args.includes('-h')) {
  process.stdout.write(usage)
  process.exit(0)
}
await runnable()
run(process.execPath, [path.join('.carillon/run/test/schedule/hunt', 'hunt.js'), ...args])
