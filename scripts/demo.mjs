// npm run demo: installs and builds what is missing, then runs the live demonstration of the wheel.
import process from 'node:process'
import { runnable, run } from './ready.mjs'

await runnable()
run(process.execPath, ['.carillon/run/examples/demonstration.js', ...process.argv.slice(2)])
