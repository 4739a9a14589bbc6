// npm run chaos [-- engine | servers | instances], npm run soak: compiles the trials of the file store, of the engine
// on it, of three engines on one server and of three `carillon serve`, and runs one; arguments go to it.
import process from 'node:process'
import { run, runnable } from './ready.mjs'

const usage = `usage: npm run chaos -- [trial] [options], npm run soak -- [options]

  npm run chaos                 the file store killed:              --rounds 200 --seed N
  npm run chaos -- engine       the engine on it killed:            --rounds 100 --seed N
  npm run chaos -- servers      three engines on a server:          --rounds 60 --rate 2000 --seed N
                                --server postgres,redis --strategy preload,lookahead,claim --faults … --keep
  npm run chaos -- instances    three carillon serve:               --seconds 60 --rate 6000 --seed N
                                --server postgres,cluster
  npm run soak                  the file store worn:                --minutes 10 --live 100000 --seed N
                                --most-disk 5 --most-memory 1.5
`

if (process.argv.includes('--help')) {
  process.stdout.write(usage)
  process.exit(0)
}
await runnable()
const folders = { engine: 'engine/chaos', servers: 'servers/chaos', instances: 'servers/instances' }
const [name, ...rest] = process.argv.slice(2)
const folder = rest[0] in folders ? folders[rest.shift()] : 'store/chaos'
run(process.execPath, ['--expose-gc', `.carillon/run/test/${folder}/${name}.js`, ...rest])
