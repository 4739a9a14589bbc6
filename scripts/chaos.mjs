// npm run chaos [-- engine], npm run soak: compiles the trials of the file store, and of the engine on it, and
// runs one; arguments go to it.
import process from 'node:process'
import { run, runnable } from './ready.mjs'

await runnable()
const [name, ...rest] = process.argv.slice(2)
const room = rest[0] === 'engine' ? rest.shift() : 'store'
run(process.execPath, ['--expose-gc', `.carillon/run/test/${room}/chaos/${name}.js`, ...rest])
