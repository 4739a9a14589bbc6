// npm run chaos [-- power | engine | servers | instances | outages | hostile | pools | parallel], npm run soak: compiles the chaos trials and
// runs one. They test the file store, the engine on it, three engines on one server, three `carillon serve`, outages, broken
// requests, workers that handle different kinds, and timers on threads. Arguments go to the trial.
import process from 'node:process'
import { run, runnable, tool } from './ready.mjs'

const usage = `usage: npm run chaos -- [trial] [options], npm run soak -- [options]

  npm run chaos                 the file store is killed:           --rounds 200 --seed N
  npm run chaos -- power        the file store loses power:         --points 500 --seed N
  npm run chaos -- engine       the engine on it is killed:         --rounds 100 --seed N
  npm run chaos -- servers      three engines on one server:        --rounds 60 --rate 2000 --seed N
                                --server postgres,redis --strategy preload,lookahead,claim --faults … --keep --no-web
                                --load long,blocking --pace quick,default --postgres german
                                --scene NAME,…|all: one fault each, checked in detail
  npm run chaos -- instances    three carillon serve processes:     --seconds 60 --rate 6000 --seed N
                                --server postgres,cluster --faults … --load long,workers,web --postgres german
  npm run chaos -- outages      the outage table, for longer:       --seconds 30
  npm run chaos -- hostile      broken requests to a server:        --minutes 60 --seed N
  npm run chaos -- pools        workers for some kinds, a deploy:   --timers 100000 --rate 500 --seed N
                                --server postgres,redis
  npm run chaos -- parallel     timers on threads:                  --operations 20000000 --deaths 1000 --no-plant
  npm run soak                  the file store in long use:         --minutes 10 --live 100000 --seed N
                                --most-disk 5 --most-memory 1.5
`

if (process.argv.includes('--help')) {
  process.stdout.write(usage)
  process.exit(0)
}
await runnable()
if (process.argv[3] === 'outages') {
  // The rows of docs/operations.md are tests. Here each outage lasts longer than a lease.
  const at = process.argv.indexOf('--seconds')
  const seconds = at < 0 ? 30 : Number(process.argv[at + 1])
  process.env['CARILLON_OUTAGE_MS'] = String(seconds * 1000)
  const limit = String((seconds + 300) * 1000)
  run(process.execPath, [tool('vitest', 'vitest.mjs'), 'run', '--testTimeout', limit, 'test/server/outages'])
  process.exit(0)
}
const folders = {
  engine: 'engine/chaos',
  servers: 'servers/chaos',
  instances: 'servers/instances',
  hostile: 'servers/hostile',
  pools: 'servers/pools',
  parallel: 'parallel/chaos',
  power: 'store/power',
}
const [name, ...rest] = process.argv.slice(2)
const folder = rest[0] in folders ? folders[rest.shift()] : 'store/chaos'
// The program of a folder is `chaos.js`, except for power losses.
const program = folder === 'store/power' ? 'power' : name
run(process.execPath, ['--expose-gc', `.carillon/run/test/${folder}/${program}.js`, ...rest])
