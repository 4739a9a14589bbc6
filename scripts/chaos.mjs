// npm run chaos [-- engine | servers | instances], npm run soak: compiles the trials of the file store, of the engine
// on it, of three engines on one server and of three `carillon serve`, and runs one; arguments go to it.
import process from 'node:process'
import { run, runnable } from './ready.mjs'

await runnable()
const folders = { engine: 'engine/chaos', servers: 'servers/chaos', instances: 'servers/instances' }
const [name, ...rest] = process.argv.slice(2)
const folder = rest[0] in folders ? folders[rest.shift()] : 'store/chaos'
run(process.execPath, ['--expose-gc', `.carillon/run/test/${folder}/${name}.js`, ...rest])
