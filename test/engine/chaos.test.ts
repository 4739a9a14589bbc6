import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const compiled = fileURLToPath(new URL('../../.carillon/run/test/engine/chaos/', import.meta.url))

describe('an engine on file', () => {
  it('keeps its promises through kill -9 (npm run chaos -- engine tries it 100 times)', () => {
    const { stdout, stderr, status } = run('--rounds', '3')
    expect(stderr).not.toContain('faults')
    expect(stdout).toMatch(/^3 kills, seed \d+: \d+ acknowledged timers, each delivered and done, none early/)
    expect(status).toBe(0)
  })

  it('fires soon after a kill, and stays alive until it does', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'carillon-restart-'))
    expect(program('restart', folder, 'die').signal).toBe('SIGKILL')
    const { stdout, status } = program('restart', folder)
    rmSync(folder, { recursive: true })
    expect(status).toBe(0)
    // A lease takes ten seconds, and nobody has to wait for that of a process that is known to be dead.
    expect(Number(/^fired after (\d+) ms/.exec(stdout)?.[1])).toBeLessThan(5000)
  })

  it.each([
    ['early-ack', /was acknowledged and never done/],
    ['early-settled', /after its settlement was acknowledged|or was settled before|was settled while/],
  ])('would be found out if it lied by %s', (lie, fault) => {
    // A kill has to fall into the lie: on a busy machine it may miss it five times.
    const tried = (seed: number) => run('--rounds', '5', '--seed', String(seed), '--plant', lie)
    let { stderr, status } = tried(1)
    for (let seed = 2; status === 0 && seed < 6; seed++) ({ stderr, status } = tried(seed))
    expect(stderr).toMatch(fault)
    expect(status).toBe(1)
    rmSync(/are kept in (.+)\n/.exec(stderr)![1]!, { recursive: true })
  })
})

function run(...args: readonly string[]) {
  return program('chaos', ...args)
}

function program(name: string, ...args: readonly string[]) {
  return spawnSync(process.execPath, ['--expose-gc', `${compiled}${name}.js`, ...args], { encoding: 'utf8' })
}
