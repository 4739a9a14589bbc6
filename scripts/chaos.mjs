// npm run chaos, npm run soak: compiles the trials of the file store and runs one; arguments go to it.
import process from 'node:process'
import { run, runnable } from './ready.mjs'

await runnable()
const [name, ...rest] = process.argv.slice(2)
run(process.execPath, ['--expose-gc', `.carillon/run/test/store/chaos/${name}.js`, ...rest])
