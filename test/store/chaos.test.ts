import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const compiled = fileURLToPath(new URL('../../.carillon/run/test/store/chaos/', import.meta.url))

describe('a file store', () => {
  it('keeps everything acknowledged through 5 kills with SIGKILL (npm run chaos: 200)', () => {
    const { stdout, stderr, status } = run('chaos', '--rounds', '5')
    expect(stderr).not.toContain('faults')
    expect(stdout).toMatch(/^5 kills, seed \d+: \d+ acknowledged calls, none lost/)
    expect(status).toBe(0)
  })

  it('fails the chaos run when it acknowledges calls too early', () => {
    const { stderr, status } = run('chaos', '--rounds', '10', '--seed', '1', '--plant', 'early-ack')
    expect(stderr).toMatch(/round \d+ of seed 1: \d+ faults\n {2}.+(is lost|is \{)/)
    expect(status).toBe(1)
    rmSync(/the store is kept in (.+)\n/.exec(stderr)![1]!, { recursive: true })
  })

  it('stays small under churn for 6 seconds (npm run soak: ten minutes)', () => {
    const { stdout, stderr, status } = run('soak', '--minutes', '0.1', '--live', '5000')
    expect(stderr).toBe('')
    expect(stdout).toMatch(/operations in 0\.1 min: at most [\d.]+ times the live data on disk/)
    expect(status).toBe(0)
  })
})

function run(name: string, ...args: readonly string[]) {
  return spawnSync(process.execPath, ['--expose-gc', `${compiled}${name}.js`, ...args], { encoding: 'utf8' })
}
