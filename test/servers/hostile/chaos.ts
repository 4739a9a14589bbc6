/**
 * npm run chaos -- hostile --minutes 60: sends broken requests to a `carillon serve` on a file store, from several
 * callers at once. No answer may be a 500, every error must have a code, and the process must be alive at the end and
 * still fire timers.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { Fuzzer } from './fuzzer.js'

const CALLERS = 8

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const minutes = Number(values.minutes)
const seed = Number(values.seed)
if (!(minutes > 0 && Number.isInteger(seed))) {
  process.stderr.write('usage: npm run chaos -- hostile --minutes 60 [--seed 1]\n')
  process.exit(2)
}

const folder = mkdtempSync(path.join(tmpdir(), 'carillon-hostile-'))
const main = path.resolve('dist/cli/main.js')
const args = [
  main,
  'serve',
  '--port',
  '0',
  '--store',
  `file:${path.join(folder, 'data')}`,
  '--log-level',
  'error',
]
const server = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
let out = ''
const end: { code?: number | null } = {}
server.on('close', (status) => (end.code = status))
await new Promise<void>((resolve) => {
  server.stdout.on('data', (data) => {
    out += String(data)
    if (out.includes('curl')) resolve()
  })
  server.on('close', () => resolve())
})
const url = /http:\/\/\S+/.exec(out)?.[0] ?? ''
const token = /ck_[\w-]+/.exec(out)?.[0] ?? ''
const until = Date.now() + minutes * 60_000
const fuzzers = Array.from({ length: CALLERS }, (_, i) => new Fuzzer(url, token, seed + i))
await Promise.all(
  fuzzers.map(async (fuzzer) => {
    while (Date.now() < until && fuzzer.findings.length < 20) {
      if ('code' in end) return
      await fuzzer.step()
    }
  }),
)
const alive = !('code' in end) && (await fetch(`${url}/readyz`)).status === 200
if (alive) {
  // It must not lose its folder while it stops.
  const ended = new Promise((resolve) => server.once('close', resolve))
  server.kill('SIGTERM')
  await ended
}
const findings = fuzzers.flatMap((fuzzer) => fuzzer.findings)
const sent = fuzzers.reduce((sum, fuzzer) => sum + fuzzer.sent, 0)
for (const finding of findings.slice(0, 20)) process.stdout.write(`${JSON.stringify(finding)}\n`)
rmSync(folder, { recursive: true, force: true })
const isWell = alive && findings.length === 0
process.stdout.write(
  `${isWell ? 'hostile: well' : 'hostile: FAILED'}: ${sent} requests, ${findings.length} findings, server ${alive ? 'ready' : `ended with ${String(end.code)}`}, seed ${seed}\n`,
)
process.exit(isWell ? 0 : 1)
