import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { FileStore } from '../../../src/store/file/file-store.js'
import { compileShim, shimEnvironment } from './shim.js'

const { EIO, ENOSPC } = constants.errno
// Much longer than any call takes: a process that is still running then has a call that is never answered.
const SCENE_TIMEOUT_MS = 60_000

const program = fileURLToPath(new URL('../../../.carillon/run/test/store/power/failing.js', import.meta.url))
const folder = mkdtempSync(path.join(tmpdir(), 'carillon-failing-'))
const shim = compileShim(folder)
const why = 'why' in shim ? ` (skipped: ${shim.why})` : ''
let scenes = 0

afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Report {
  readonly outcomes: Readonly<Record<string, string>>
  readonly acknowledged: readonly string[]
  readonly refused: readonly string[]
}

/** Runs a scene of failing.ts on a failing disk, then opens its folder without the shim and looks up its timers. */
async function runScene(rule: string, scene: string, namespace = 'test', kind = 'sample') {
  if ('why' in shim) throw new Error(shim.why)
  const home = path.join(folder, `scene${++scenes}`)
  const faults = `${home}.faults`
  writeFileSync(faults, '')
  const { stdout, stderr, status, signal } = spawnSync(
    process.execPath,
    [program, `${home}/store`, faults, rule, scene],
    {
      encoding: 'utf8',
      timeout: SCENE_TIMEOUT_MS,
      killSignal: 'SIGKILL',
      env: shimEnvironment(shim.library, home, { faults }),
    },
  )
  const report = (stdout === '' ? undefined : JSON.parse(stdout)) as Report | undefined
  const store = await FileStore.open(`${home}/store`)
  const find = async (keys: readonly string[]) =>
    (await store.find(keys.map((key) => ({ namespace, kind, key })))).filter((row) => row !== undefined)
  const kept = (await find(report?.acknowledged ?? [])).length
  const unwanted = (await find(report?.refused ?? [])).length
  const rows = await store.countRows()
  await store.stop()
  return { report, stderr, status, signal, kept, unwanted, rows }
}

const allLater = { later: 'store-failed', find: 'store-failed', list: 'store-failed' }
const closed = { 'compact-later': 'store-failed', stop: 'ok' }

describe.skipIf('why' in shim)(`a file store on a failing disk${why}`, () => {
  it.each([
    ['a write to the meta page fails', `meta ${EIO} 0 1`, 'unknown-outcome'],
    ['a write to the meta page fails, and so does its undo', `meta ${EIO} 0 2`, 'unknown-outcome'],
    ['the disk is full at a write to the meta page', `meta ${ENOSPC} 0 1`, 'unknown-outcome'],
    ['a flush fails', `sync ${EIO} 0 1`, 'store-failed'],
    ['every later flush fails', `sync ${EIO} 0 1000000`, 'store-failed'],
    ['half of a page is written although the disk has space', `data -1 0 1`, 'store-failed'],
  ])('rejects every call and stops cleanly when %s', async (_, rule, first) => {
    const { report, status, signal, kept, unwanted } = await runScene(rule, 'writes')
    expect({ status, signal }).toEqual({ status: 0, signal: null })
    expect(report!.outcomes).toMatchObject({
      first,
      second: first,
      third: 'store-failed',
      ...allLater,
      ...closed,
    })
    expect(report!.acknowledged).toHaveLength(400)
    expect({ kept, unwanted }).toEqual({ kept: 400, unwanted: 0 })
  })

  it('loses nothing when a page write fails, even if LMDB’s binding aborts the process', async () => {
    const { report, status, signal, stderr, rows, kept, unwanted } = await runScene(
      `data ${EIO} 0 1`,
      'writes',
    )
    // The rows that were written before the disk failed, and no others.
    expect(rows).toBe(400)
    // The binding prints up to 116 bytes into a buffer of 100: see docs/stores.md.
    if (signal === 'SIGABRT') return expect(stderr).toMatch(/corrupted|invalid|malloc/)
    expect({ status, signal }).toEqual({ status: 0, signal: null })
    expect(report!.outcomes).toMatchObject({
      first: 'store-failed',
      third: 'store-failed',
      ...allLater,
      ...closed,
    })
    expect({ kept, unwanted }).toEqual({ kept: 400, unwanted: 0 })
  })

  it('rejects a write that LMDB’s binding never answers', async () => {
    const { report, status, signal, kept, unwanted } = await runScene(`meta ${EIO} 0 1`, 'silence')
    expect(report?.outcomes['panic']).toBe(String(EIO))
    expect(report!.outcomes).toMatchObject({ first: 'store-failed', ...allLater, ...closed })
    expect({ status, signal }).toEqual({ status: 0, signal: null })
    expect({ kept, unwanted }).toEqual({ kept: 400, unwanted: 0 })
  })

  it.each([`meta ${EIO} 0 1`, `sync ${EIO} 0 1`, `meta ${EIO} 0 1000000`])(
    'stops cleanly when its last write fails (%s)',
    async (rule) => {
      const { report, status, signal, kept } = await runScene(rule, 'stop')
      expect({ status, signal }).toEqual({ status: 0, signal: null })
      expect(report!.outcomes['stop']).toBe('ok')
      expect(kept).toBe(400)
    },
  )

  it('can be opened again in the same process once the disk works', async () => {
    const { report, status } = await runScene(`sync ${EIO} 0 1`, 'again')
    expect(status).toBe(0)
    expect(report!.outcomes).toMatchObject({ first: 'store-failed', stop: 'ok', rows: '400' })
  })

  it('rejects one write with store-full and goes on when the disk is full', async () => {
    const { report, status, kept, unwanted } = await runScene(`sync ${ENOSPC} 0 1`, 'writes')
    expect(status).toBe(0)
    expect(report!.outcomes).toMatchObject({ first: 'store-full', later: 'ok', find: 'ok', stop: 'ok' })
    expect({ kept, unwanted }).toEqual({ kept: report!.acknowledged.length, unwanted: 0 })
    expect(report!.acknowledged.length).toBeGreaterThanOrEqual(440)
  })

  it.each([
    ['the copy cannot be flushed', `sync ${EIO} 0 1`, 'store-unavailable', 'ok'],
    ['the copy cannot be renamed over the file', `rename ${EIO} 0 1`, 'store-unavailable', 'ok'],
    ['the folder cannot be flushed after the rename', `sync ${EIO} 1 1`, 'store-failed', 'store-failed'],
    [
      'the owner mark cannot be written to the new file',
      `meta ${EIO} 1 1`,
      'unknown-outcome',
      'store-failed',
    ],
  ])('answers every call when, in a compaction, %s', async (_, rule, compact, later) => {
    const { report, status, signal, kept, unwanted } = await runScene(rule, 'compact')
    expect({ status, signal }).toEqual({ status: 0, signal: null })
    expect(report!.outcomes).toMatchObject({
      compact,
      meanwhile: later,
      reading: later,
      later,
      find: later,
      stop: 'ok',
    })
    expect({ kept, unwanted }).toEqual({ kept: report!.acknowledged.length, unwanted: 0 })
  })

  it('goes on when a backup cannot be flushed', async () => {
    const { report, status } = await runScene(`sync ${EIO} 0 1`, 'backup')
    expect(status).toBe(0)
    expect(report!.outcomes).toMatchObject({ backup: 'store-unavailable', later: 'ok', stop: 'ok' })
  })

  it.each([`meta ${EIO} 0 1`, `sync ${EIO} 0 1`, `sync ${EIO} 3 1`, `rename ${EIO} 0 1`])(
    'rejects an open during which the disk fails (%s), and opens afterwards',
    async (rule) => {
      const { report, status, signal, rows } = await runScene(rule, 'open')
      expect({ status, signal }).toEqual({ status: 0, signal: null })
      expect(report!.outcomes['open']).toBe('store-failed')
      expect(rows).toBe(0)
    },
  )

  it('opens after a first open that failed at any one of its flushes', async () => {
    const opened: (string | undefined)[] = []
    for (let flush = 0; opened.at(-1) !== 'ok'; flush++) {
      const { report, status, signal, rows } = await runScene(`sync ${EIO} ${flush} 1`, 'open')
      expect({ flush, status, signal, rows }).toEqual({ flush, status: 0, signal: null, rows: 0 })
      opened.push(report!.outcomes['open'])
    }
    // The flushes of the trial file, the new file, the names, and LMDB's tables.
    expect(opened.length).toBeGreaterThan(6)
    expect(new Set(opened)).toEqual(new Set(['store-failed', 'ok']))
  })

  it('answers the calls of an engine on it, and lets the engine stop', async () => {
    for (const rule of [`meta ${EIO} 0 1`, `sync ${EIO} 0 1`]) {
      const { report, status, signal, kept, stderr } = await runScene(rule, 'engine', 'default', 'kind')
      expect({ status, signal, stderr }).toMatchObject({ status: 0, signal: null })
      expect(report!.outcomes['stop']).toBe('ok')
      expect(report!.outcomes['set']).not.toBe('ok')
      expect(report!.outcomes['set-later']).not.toBe('ok')
      expect(kept).toBe(10)
    }
  })
})
