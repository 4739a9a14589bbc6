import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../eventually.js'
import { builtFront, handlerModule, Reports } from '../front/built-front.js'
import { CliProcess, runProcess } from './cli-process.js'
import { runCli } from './run-cli.js'

const { openTimers, timer } = await builtFront()

const module = `
import { isMainThread } from 'node:worker_threads'
export default async ({ key, attempt, namespace, payload }) => {
  console.log(namespace + ' ' + key + ' ' + attempt + (isMainThread ? ' in the main thread' : ''))
  if (payload === 'never yields') while (attempt === 1);
}`

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'carillon-handlers-'))
  writeFileSync(path.join(folder, 'resize.mjs'), module)
  writeFileSync(path.join(folder, 'broken.mjs'), 'throw new Error("broken on purpose")')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const memory = ['serve', '--store', 'memory:', '--port', '0', '--auth', 'false']

async function urlOf(server: CliProcess): Promise<string> {
  await server.waitForOutput(/curl .*\n/)
  return /http:\/\/\S+/.exec(server.out)![0]
}

async function put(url: string, name: string, payload?: string, namespace = 'default'): Promise<void> {
  const body = JSON.stringify({ in: 0, payload })
  const headers = { 'content-type': 'application/json', 'carillon-namespace': namespace }
  const answer = await fetch(`${url}/v1/timers/${name}`, { method: 'PUT', headers, body })
  expect(answer.ok).toBe(true)
}

describe('carillon serve with handler modules', () => {
  it('runs the handlers of its configuration file on threads, and goes on while one never yields', async () => {
    const handlers = [
      {
        kind: 'resize',
        module: './resize.mjs',
        threads: 2,
        timeout: '200ms',
        retry: { backoff: '10ms..20ms' },
      },
      { kind: 'resize', module: './resize.mjs', namespace: 'shop' },
    ]
    writeFileSync(path.join(folder, 'config.json'), JSON.stringify({ handlers }))
    await using server = new CliProcess([...memory, '--config', 'config.json'], { cwd: folder })
    const url = await urlOf(server)
    await put(url, 'resize/stuck', 'never yields')
    await server.waitForOutput(/^default stuck 1$/m)
    await put(url, 'resize/other')
    await server.waitForOutput(/^default other 1$/m)
    await server.waitForOutput(/^default stuck 2$/m)
    await put(url, 'resize/other', undefined, 'shop')
    await server.waitForOutput(/^shop other 1$/m)
    expect(server.out).not.toContain('in the main thread')
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
  })

  it('takes them as a flag, too, and a client may handle kinds in threads of its own', async () => {
    await using server = new CliProcess([...memory, '--handlers', 'resize=./resize.mjs'], { cwd: folder })
    const url = await urlOf(server)
    await put(url, 'resize/a')
    await server.waitForOutput(/^default a 1$/m)
    using reports = new Reports()
    const kind = timer<{ readonly do?: string }>('remote', { retry: { backoff: '10ms..20ms' } })
    const timers = await openTimers({ store: url as `http://${string}`, logger: false })
    await timers.handle(kind, handlerModule)
    await timers.start()
    await timers.set(kind, 'ok', { in: 0, payload: {} })
    await timers.set(kind, 'exit', { in: 0, payload: { do: 'exit' } })
    await until('both have ended', () => reports.of('ended').length === 2)
    expect(reports.of('ended')).toEqual(['exit 2', 'ok 1'])
    await timers.stop()
    expect(await reports.threads()).toEqual([])
  })

  it.each([
    ['resize=./broken.mjs', 'broken on purpose', '(handler-module)'],
    ['resize=./missing.mjs', 'missing.mjs', '(handler-module)'],
    ['resize', 'such as resize=./resize.js', '(invalid-option)'],
    ['a=./resize.mjs,a=./resize.mjs', 'has a handler already', '(handler-exists)'],
  ])('refuses --handlers %s with an error that says what is wrong: %s', async (handlers, text, code) => {
    const ran = await runProcess([...memory, '--handlers', handlers], { cwd: folder })
    expect(ran.code).not.toBe(0)
    expect(ran.err).toContain(text)
    expect(ran.err).toContain(code)
  })

  it.each([
    [{ handlers: 'resize' }, '(invalid-option)'],
    [{ handlers: [{ kind: 'resize' }] }, '(invalid-option)'],
    [{ handlers: [{ kind: 'resize', module: './resize.mjs', thread: 1 }] }, '(unknown-option)'],
    [{ handlers: [{ kind: 'resize', module: './resize.mjs', threads: 0 }] }, '(invalid-option)'],
    [{ handlers: [{ kind: '', module: './resize.mjs' }] }, '(invalid-kind)'],
  ])('refuses the configuration %j with %s', async (configuration, code) => {
    const file = path.join(folder, 'wrong.json')
    writeFileSync(file, JSON.stringify(configuration))
    // In this process: it is refused before any thread is started.
    const ran = await runCli([...memory, '--config', file])
    expect(ran.code).not.toBe(0)
    expect(ran.err).toContain(code)
  })
})
