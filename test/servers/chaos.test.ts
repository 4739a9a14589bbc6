import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const program = fileURLToPath(new URL('../../.carillon/run/test/servers/chaos/chaos.js', import.meta.url))
const MAX_MS = 300_000
/** Less than the 2,000 a second of `npm run chaos -- servers`, because all tests share the machine. */
const RATE = '300'
/** All faults but those of clocks, which have scenes of their own. */
const FAULTS = ['kill', 'stop', 'restart', 'deafen', 'cut', 'lag', 'partition', 'join', 'roll']

describe.each(['postgres', 'redis'])('three processes on one %s', (server) => {
  it.each(['preload', 'lookahead', 'claim'])(
    'keep every promise through each fault, with the strategy %s (npm run chaos -- servers tries more)',
    (strategy) => {
      const rounds = String(FAULTS.length)
      const faults = ['--faults', FAULTS.join(','), '--rounds', rounds]
      const { stdout, stderr, status } = run(
        '--no-web',
        '--server',
        server,
        '--strategy',
        strategy,
        ...faults,
      )
      expect(stderr).toBe('')
      expect(stdout).toMatch(
        / acknowledged timers, each delivered and done, none early, none after its settlement/,
      )
      // Each fault happened, and led to errors.
      for (const fault of FAULTS) expect(stdout).toMatch(new RegExp(`; faults [^;]*\\b${fault} 1\\b`))
      expect(stdout).toMatch(/troubles .*\bunknown-outcome [1-9]/)
      expect(stdout).toMatch(/troubles .*\bstore-unavailable [1-9]/)
      expect(status).toBe(0)
      console.log(stdout.trim())
    },
    MAX_MS,
  )
})

describe('the trial of three processes on one Redis', () => {
  it(
    'finds a process that settles too early',
    () => {
      const { stderr, status } = run('--server', 'redis', '--strategy', 'preload', '--plant', 'early-settled')
      expect(stderr).toMatch(/ ms after its settlement was acknowledged|was settled while no attempt/)
      expect(status).toBe(1)
      rmSync(path.dirname(/log is kept in (.+)\n/.exec(stderr)![1]!), { recursive: true })
    },
    MAX_MS,
  )
})

function run(...args: readonly string[]) {
  return spawnSync(process.execPath, [program, '--rate', RATE, ...args], { encoding: 'utf8' })
}
