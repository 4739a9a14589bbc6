// npm run chaos [-- engine | servers], npm run soak: compiles the trials of the file store, of the engine on it, and
// of three engines on one server, and runs one; arguments go to it.
import process from 'node:process'
import { run, runnable } from './ready.mjs'

await runnable()
const [name, ...rest] = process.argv.slice(2)
const room = ['engine', 'servers'].includes(rest[0]) ? rest.shift() : 'store'
run(process.execPath, ['--expose-gc', `.carillon/run/test/${room}/chaos/${name}.js`, ...rest])
