/**
 * npm run bench servers: timers through `openTimers` on PostgreSQL and on Redis, against what users would choose instead
 * (pg-boss, graphile-worker, BullMQ) and against the servers' own limits. Every candidate has its own process and server.
 * PostgreSQL always flushes every commit.
 *
 *   npm run bench servers                                   burst and lateness, on both servers
 *   npm run bench servers -- --only burst --on postgres     one part, on one server
 *   npm run bench servers -- --only future --on redis       a burst among 10,000 and 5 M timers for later: long
 *   npm run bench servers -- --only topology                a process that only sets, and one that only fires
 *
 * `--candidates a,b` selects within a part. Other options (`--n`, `--rounds`, `--json`, `--help`) go to each part.
 * n is the number of timers in `burst`, `future` and `topology`, and seconds of load in
 * `lateness`.
 */
import process from 'node:process'
import type { Bench } from './harness/bench.js'
import { installPeers, isAsked } from './harness/peer-packages.js'
import { runBench } from './harness/run.js'
import { burst, future } from './servers/burst.js'
import type { ServerName } from './servers/candidates.js'
import { lateness } from './servers/lateness.js'
import { topology } from './servers/topology/topology.js'

const parts: Readonly<Record<string, (on: ServerName) => readonly Bench[]>> = {
  burst: (on) => [burst(on)],
  lateness,
  future: (on) => [future(on)],
  topology,
}
const servers: readonly ServerName[] = ['postgres', 'redis']

const args = process.argv.slice(2)
if (args[0] === 'measure') {
  const all = Object.values(parts).flatMap((benches) => servers.flatMap((on) => benches(on)))
  const bench = all.find(({ candidates }) => candidates.some(({ name }) => name === args[1]))
  if (bench === undefined) throw new Error(`no part has a candidate '${args[1]}'`)
  await runBench(bench, args)
} else {
  const { names, on, rest } = parseParts(args)
  const unknown = [
    ...names.filter((name) => !(name in parts)),
    ...on.filter((name) => !servers.includes(name)),
  ]
  if (unknown.length > 0) {
    process.stderr.write(
      `unknown to the bench servers: '${unknown.join(', ')}'; --only takes ${Object.keys(parts).join(', ')}, ` +
        `--on takes ${servers.join(', ')}\n`,
    )
    process.exitCode = 2
  } else {
    if (isAsked(rest, 'pg-boss', 'graphile', 'bullmq')) installPeers('servers')
    for (const part of names)
      for (const server of on) for (const bench of parts[part]!(server)) await runBench(bench, rest)
  }
}

function parseParts(given: readonly string[]) {
  const rest: string[] = []
  let names = ['burst', 'lateness']
  let on = servers
  for (let i = 0; i < given.length; i++) {
    const [option = '', inline] = given[i]!.split('=')
    const next = (): string => inline ?? given[++i] ?? ''
    if (option === '--only') names = next().split(',')
    else if (option === '--on') on = next().split(',') as ServerName[]
    else if (option === '--candidates') rest.push('--only', next())
    else rest.push(given[i]!)
  }
  return { names, on, rest }
}
