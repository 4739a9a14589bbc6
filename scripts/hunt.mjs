// npm run hunt [-- --seed 1 --rules 10000 --slowest 12 --processes 5]: makes schedules at random and looks for those
// whose `next` takes long, warm and in new processes.
import path from 'node:path'
import process from 'node:process'
import { run, runnable } from './ready.mjs'

await runnable()
run(process.execPath, [path.join('.carillon/run/test/schedule/hunt', 'hunt.js'), ...process.argv.slice(2)])
