import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const chaos = fileURLToPath(new URL('../../.carillon/run/test/engine/chaos/chaos.js', import.meta.url))

describe('an engine on file', () => {
  it('keeps its promises through kill -9 (npm run chaos -- engine tries it 100 times)', () => {
    const { stdout, stderr, status } = run('--rounds', '3')
    expect(stderr).not.toContain('faults')
    expect(stdout).toMatch(/^3 kills, seed \d+: \d+ acknowledged timers, each delivered and done, none early/)
    expect(status).toBe(0)
  })

  it.each([
    ['early-ack', /was acknowledged and never done/],
    ['early-settled', /after its settlement was acknowledged|was settled while/],
  ])('would be found out if it lied by %s', (lie, fault) => {
    const { stderr, status } = run('--rounds', '12', '--seed', '1', '--plant', lie)
    expect(stderr).toMatch(fault)
    expect(status).toBe(1)
    rmSync(/are kept in (.+)\n/.exec(stderr)![1]!, { recursive: true })
  })
})

function run(...args: readonly string[]) {
  return spawnSync(process.execPath, ['--expose-gc', chaos, ...args], { encoding: 'utf8' })
}
