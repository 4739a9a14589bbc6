import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const program = fileURLToPath(new URL('../../.carillon/run/test/servers/chaos/chaos.js', import.meta.url))
const LONGEST_MS = 300_000

describe.each(['postgres', 'redis'])('three processes on one %s', (server) => {
  it.each(['preload', 'lookahead', 'claim'])(
    'keep their promises through every fault, with %s (npm run chaos -- servers tries more)',
    (strategy) => {
      const { stdout, stderr, status } = run('--server', server, '--strategy', strategy, '--rounds', '7')
      expect(stderr).toBe('')
      expect(stdout).toMatch(
        / acknowledged timers, each delivered and done, none early, none after its settlement/,
      )
      // Each of them happened, and was felt.
      expect(stdout).toMatch(/; faults (?:(?:kill|stop|restart|deafen|cut|lag|partition) 1(?:, |; )){7}/)
      expect(stdout).toMatch(/troubles .*\bunknown-outcome [1-9]/)
      expect(stdout).toMatch(/troubles .*\bstore-unavailable [1-9]/)
      expect(status).toBe(0)
      console.log(stdout.trim())
    },
    LONGEST_MS,
  )
})

describe('three processes on one server', () => {
  it(
    'would be found out if they settled too early',
    () => {
      const { stderr, status } = run('--server', 'redis', '--strategy', 'preload', '--plant', 'early-settled')
      expect(stderr).toMatch(/ ms after its settlement was acknowledged|was settled while no attempt/)
      expect(status).toBe(1)
      rmSync(path.dirname(/log is kept in (.+)\n/.exec(stderr)![1]!), { recursive: true })
    },
    LONGEST_MS,
  )
})

function run(...args: readonly string[]) {
  return spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' })
}
