import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const library = new URL('../../dist/index.js', import.meta.url)

let folder = ''

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'carillon-stop-'))
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** Runs a module in a process of its own, as a user would. */
function run(lines: string): { readonly code: number | null; readonly out: string; readonly err: string } {
  const file = path.join(folder, 'program.mjs')
  writeFileSync(file, `import { openTimers, timer } from ${JSON.stringify(library.href)}\n${lines}`)
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], {
    encoding: 'utf8',
    timeout: 100_000,
  })
  return { code: status, out: stdout, err: stderr }
}

/** Opens timers with two kinds. Handlers of `hanging` never settle. */
const opening = (store: string, stopMs = 400): string => `
const [quick, hanging] = [timer('quick'), timer('hanging')]
const timers = await openTimers({ store: ${JSON.stringify(store)}, logger: false, engine: { stopMs: ${stopMs}, leaseMs: 4000 } })
let onHanging, onQuick
const hangs = new Promise((resolve) => (onHanging = resolve))
const isQuick = new Promise((resolve) => (onQuick = resolve))
timers.handle(quick, () => {
  console.log('quick fired')
  onQuick()
})
timers.handle(hanging, () => {
  console.log('hanging fired')
  onHanging()
  return new Promise(() => undefined)
})
await timers.start()
`

describe.each(['memory', 'file'])('a process that stops timers on %s', (kind) => {
  const store = (): string => (kind === 'memory' ? 'memory:' : `file:${folder}/timers`)

  it('stays alive until they have stopped, although a handler never settles', () => {
    const { code, out, err } = run(`${opening(store())}
      await timers.set(quick, 'a', { in: 0 })
      await timers.set(hanging, 'b', { in: 1 })
      await hangs
      await timers.stop()
      console.log('stopped')`)
    expect(out).toBe('quick fired\nhanging fired\nstopped\n')
    expect(err).toBe('')
    expect(code).toBe(0)
  })
})

describe('timers on file that were stopped while a handler did not settle', () => {
  it('do not fire again what had finished', () => {
    const store = `file:${folder}/timers`
    const first = run(`${opening(store, 50)}
      await timers.setMany(quick, [{ key: 'a', in: 0 }])
      await timers.set(hanging, 'b', { in: 1 })
      await hangs
      await timers.stop()`)
    expect(first.out).toBe('quick fired\nhanging fired\n')
    const { code, out } = run(`${opening(store)}
      await hangs
      await timers.set(quick, 'c', { in: 1000 })
      await isQuick
      await timers.stop()`)
    expect(out).toBe('hanging fired\nquick fired\n')
    expect(code).toBe(0)
  })
})
