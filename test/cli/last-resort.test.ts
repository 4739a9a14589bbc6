import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CliProcess } from './cli-process.js'

let folder = ''

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'carillon-last-'))
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** A `carillon serve` that runs `code` when it gets SIGUSR2. */
function serveWith(code: string): CliProcess {
  const file = path.join(folder, `planted-${Math.random().toString(36).slice(2)}.mjs`)
  writeFileSync(file, `process.on('SIGUSR2', () => { ${code} })`)
  const env = { NODE_OPTIONS: `--import ${pathToFileURL(file).href}` }
  return new CliProcess(['serve', '--port', '0', '--store', 'memory:', '--auth', 'false'], {
    env,
    cwd: folder,
  })
}

describe('carillon serve', () => {
  it('logs a rejection that nobody handles, and goes on serving', async () => {
    await using server = serveWith(`Promise.reject(new Error('planted'))`)
    await server.waitForOutput(/curl .*\n/)
    server.child.kill('SIGUSR2')
    await server.waitForOutput(/a rejection was not handled/)
    expect(server.err).toContain('planted')
    const url = /http:\/\/\S+/.exec(server.out)![0]
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
  })

  it('stops cleanly and exits with 1 after an exception that nobody caught', async () => {
    await using server = serveWith(`setTimeout(() => { throw new Error('planted') })`)
    await server.waitForOutput(/curl .*\n/)
    server.child.kill('SIGUSR2')
    expect(await server.ended).toBe(1)
    expect(server.err).toContain('an exception was not caught')
    expect(server.err).toContain('stopped')
  })
})
