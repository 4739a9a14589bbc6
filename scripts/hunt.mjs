// npm run hunt [-- --seed 1 --rules 10000 --slowest 12 --processes 5]: makes schedules at random and looks for those
// whose `next` takes long, warm and in new processes.
import path from 'node:path'
import process from 'node:process'
import { run, runnable } from './ready.mjs'

const usage = `usage: npm run hunt -- [options]

  --seed N        another sequence of rules, 1 unless given
  --rules N       how many rules are made, 10000 unless given
  --slowest N     how many of the slowest are asked again in new processes, 12 unless given
  --processes N   in how many new processes each, of which the least counts, 5 unless given
`
const args = process.argv.slice(2)
if (args.includes('--help') || args.includes('-h')) {
  process.stdout.write(usage)
  process.exit(0)
}
await runnable()
run(process.execPath, [path.join('.carillon/run/test/schedule/hunt', 'hunt.js'), ...args])
