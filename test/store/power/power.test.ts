import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { compileShim } from './shim.js'

const program = fileURLToPath(new URL('../../../.carillon/run/test/store/power/power.js', import.meta.url))
const folder = mkdtempSync(path.join(tmpdir(), 'carillon-shim-'))
const shim = compileShim(folder)
rmSync(folder, { recursive: true })
const why = 'why' in shim ? ` (skipped: ${shim.why})` : ''

function power(...args: readonly string[]) {
  return spawnSync(process.execPath, [program, '--lives', '2', '--turns', '12', '--seed', '1', ...args], {
    encoding: 'utf8',
  })
}

describe.skipIf('why' in shim)(`a file store that loses power${why}`, () => {
  it('opens with everything acknowledged and nothing removed (20 points; npm run chaos -- power: 500)', () => {
    const { stdout, stderr, status } = power('--points', '20')
    expect(stderr).not.toContain('faults')
    expect(stdout).toMatch(/^20 power losses, seed 1: up to \d+ acknowledged calls, none lost, none back/)
    expect(status).toBe(0)
  })

  it.each([
    ['the store acknowledges before the disk has the data', 'early-ack'],
    ['the file is not flushed', 'no-sync'],
    ['the folder is not flushed', 'no-folder-sync'],
  ])('fails the trial when %s', (_, plant) => {
    const { stderr, status } = power('--points', '30', '--plant', plant)
    expect(stderr).toMatch(/\d+ of \d+ power losses have faults/)
    expect(status).toBe(1)
    rmSync(/the files are kept in (.+)\n/.exec(stderr)![1]!, { recursive: true })
  })
})
