// npm test: installs and builds what is missing, then runs the whole suite. Arguments go to vitest.
import process from 'node:process'
import { run, runnable, tool } from './ready.mjs'

await runnable()
run(process.execPath, [tool('vitest', 'vitest.mjs'), 'run', ...process.argv.slice(2)])
