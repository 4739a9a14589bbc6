import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MemoryStore } from '../../src/store/index.js'
import { TestServer } from '../server/test-server.js'
import { runCli } from './run-cli.js'

const store = new MemoryStore()
let served: TestServer
let env: Record<string, string>

beforeAll(async () => {
  served = await TestServer.start({ store })
  env = { CARILLON_URL: served.url, CARILLON_KEY: served.token }
})

afterAll(async () => {
  await served.server.stop()
})

describe('carillon top', () => {
  it('prints a table with a line for each sample when the output is not a terminal', async () => {
    await served.call('PUT', '/v1/timers/hello/1', { in: '1h' })
    const { code, out } = await runCli(['top', '--interval', '20ms', '--count', '3'], { env })
    const lines = out.trimEnd().split('\n')
    expect([code, lines.length]).toEqual([0, 4])
    expect(lines[0]).toMatch(/^ +time +pending +set\/s +fired\/s/)
    for (const line of lines.slice(1)) expect(line).toMatch(/^ +\d\d:\d\d:\d\d +1 .* 1 +yes$/)
    expect(out).not.toContain('\u001B')
  })

  it('prints samples as JSON, with the timers set per second', async () => {
    const watching = runCli(['top', '--interval', '1s', '--count', '1', '--json'], { env })
    await new Promise((resolve) => setTimeout(resolve, 300))
    for (let n = 0; n < 10; n++) await served.call('PUT', `/v1/timers/hello/set${n}`, { in: '1h' })
    const sample = JSON.parse((await watching).out) as { setPerSecond: number; pending: number; faults: [] }
    expect(sample).toMatchObject({ pending: 11, faults: [] })
    expect(sample.setPerSecond).toBeGreaterThan(2)
    expect(sample.setPerSecond).toBeLessThanOrEqual(10)
  })

  it('redraws in place on a terminal, and shows why the server is not ready', async () => {
    const now = store.now.bind(store)
    store.now = () => Promise.reject(new Error('gone'))
    try {
      const { out } = await runCli(['top', '--interval', '20ms', '--count', '1'], { env, isScreen: true })
      expect(out.startsWith('\u001B[2J\u001B[H')).toBe(true)
      expect(out).toMatch(/ready +no\n {2}! the store did not answer/)
    } finally {
      store.now = now
    }
  })

  it('refuses an invalid interval or count', async () => {
    expect((await runCli(['top', '--interval', 'often'], { env })).err).toContain('(invalid-duration)')
    expect((await runCli(['top', '--count', '0'], { env })).err).toContain('(invalid-option)')
  })
})

describe('carillon completion', () => {
  it('completes commands and options in bash', async () => {
    const { out } = await runCli(['completion', 'bash'])
    const complete = (...words: string[]): string[] =>
      execFileSync(
        'bash',
        [
          '-c',
          `${out}\nCOMP_WORDS=("$@"); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _carillon; printf '%s\\n' "\${COMPREPLY[@]}"`,
          'bash',
          ...words,
        ],
        { encoding: 'utf8' },
      )
        .trim()
        .split('\n')
    expect(complete('carillon', 'for')).toEqual(['forecast'])
    expect(complete('carillon', 're').toSorted()).toEqual(['redrive', 'resume'])
    expect(complete('carillon', 'set', '--if').toSorted()).toEqual(['--if-absent', '--if-revision'])
    expect(complete('carillon', 'list', '--st')).toEqual(['--store'])
  })

  it('contains every command and option for each shell', async () => {
    const help = (await runCli(['--help'])).out
    const names = [...help.matchAll(/^ {2}([\w-]+) {2,}/gm)].map(([, name]) => name!)
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { code, out } = await runCli(['completion', shell])
      expect(code).toBe(0)
      for (const name of names) expect(out).toContain(name)
      for (const option of ['webhook-addresses', 'if-absent', 'due-until']) expect(out).toContain(option)
    }
    expect((await runCli(['completion', 'tcsh'])).err).toContain('(invalid-option)')
  })
})
