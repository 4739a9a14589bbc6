import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, chmodSync, mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { newSealKey, TargetSeal } from '../../src/delivery/index.js'
import { openTimers, timer } from '../../src/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { FileStore } from '../../src/store/file/file-store.js'
import { eventually } from '../eventually.js'
import { VirtualClock } from '../../src/time/index.js'

const folder = mkdtempSync(path.join(tmpdir(), 'carillon-seal-'))
const secret = (byte: number): string => `whsec_${Buffer.alloc(32, byte).toString('base64')}`
const url = 'https://example.org/'

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

function modeOf(file: string): string {
  return (statSync(file).mode & 0o777).toString(8)
}

describe('a sealed target', () => {
  it('can be opened with its key, under its name, and only unchanged', () => {
    const key = newSealKey()
    const seal = TargetSeal.parse(key)
    const text = seal.seal('target/default/a', '{"secret":"x"}')
    expect(text).not.toContain('secret')
    expect(seal.open('target/default/a', text)).toBe('{"secret":"x"}')
    const missing = expect.objectContaining({ code: 'secret-key-missing' }) as Error
    expect(() => seal.open('target/default/b', text)).toThrow(missing)
    expect(() => seal.open('target/default/a', `${text.slice(0, -6)}AAAA==`)).toThrow(missing)
    expect(() => TargetSeal.parse(newSealKey()).open('target/default/a', text)).toThrow(missing)
    // A new key comes first, and the old one still opens.
    const rotated = TargetSeal.parse(`${newSealKey()},${key}`)
    expect(rotated.open('target/default/a', text)).toBe('{"secret":"x"}')
    expect([seal.isCurrent(text), rotated.isCurrent(text)]).toEqual([true, false])
    for (const wrong of ['', 'x', 'A'.repeat(42), 'zz'.repeat(32)])
      expect(() => TargetSeal.parse(wrong)).toThrow(expect.objectContaining({ code: 'invalid-option' }))
  })

  it('replaces the one that was stored as it is, is used by its owner, and refused without the key', async () => {
    const store = new MemoryStore()
    const plain = await openTimers({ store, logger: false })
    await plain.setTarget('a', { type: 'webhook', url, secret: secret(1), headers: { 'x-token': 'hush' } })
    await plain.stop()
    const texts = async (): Promise<string> =>
      (await store.settings('target/')).map((each) => each.value).join()
    expect(await texts()).toContain('hush')
    const secretKey = newSealKey()
    const sealed = await openTimers({ store, secretKey, logger: false })
    expect(await texts()).not.toMatch(/hush|whsec_/)
    expect(await sealed.getTarget('a')).toMatchObject({ url, headerNames: ['x-token'] })
    // A target that is set without its secret keeps it.
    await sealed.setTarget('a', { type: 'webhook', url: `${url}b` })
    expect(await sealed.listTargets()).toMatchObject([{ url: `${url}b`, secretIds: [expect.any(String)] }])
    await sealed.stop()
    const events: unknown[] = []
    const without = await openTimers({ store, logger: false, onEvent: (event) => events.push(event) })
    await expect(without.getTarget('a')).rejects.toMatchObject({ code: 'secret-key-missing' })
    expect(events).toContainEqual({ type: 'target', kind: 'a', state: 'refused' })
    await without.stop()
  })
})

describe('a webhook whose secret is replaced', () => {
  it('is signed with both secrets until the grace is over, and then with the new one', async () => {
    const signatures: string[] = []
    const receiver = createServer((request, response) => {
      signatures.push(String(request.headers['webhook-signature']))
      response.end()
    })
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    const target = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
    const clock = new VirtualClock({ start: Date.UTC(2026, 0, 1) })
    const store = new MemoryStore({ clock })
    const timers = await openTimers({ store, clock, guard: false, logger: false, alone: true })
    await timers.setTarget('a', { type: 'webhook', url: target, secret: secret(1) })
    const started = timers.start()
    await clock.advance(1000)
    await started
    const kind = timer('a')
    const signed = async (count: number): Promise<number> => {
      const before = signatures.length
      const set = timers.set(kind, { in: 0 })
      await clock.advance(100)
      await set
      await eventually(async () => {
        await clock.advance(10)
        expect(signatures).toHaveLength(before + 1)
      })
      expect(signatures.at(-1)!.split(' ')).toHaveLength(count)
      return count
    }
    await signed(1)
    await timers.setTarget('a', { type: 'webhook', url: target, secret: secret(2), grace: '1h' })
    expect(await timers.getTarget('a')).toMatchObject({
      secretIds: [expect.any(String)],
      earlierSecrets: [{ id: expect.any(String) as string, until: clock.now() + 3_600_000 }],
    })
    await signed(2)
    // A change that keeps the secret keeps the grace, too.
    await timers.setTarget('a', { type: 'webhook', url: target, rate: 100 })
    await signed(2)
    await clock.advance('61m')
    await signed(1)
    // Without grace the old one ends at once.
    await timers.setTarget('a', { type: 'webhook', url: target, secret: secret(3) })
    await signed(1)
    const stopped = timers.stop()
    await clock.advance('1m')
    await stopped
    receiver.closeAllConnections()
    receiver.close()
  })
})

describe('the folder of a file store', () => {
  it('and its files belong to their user only, also after a compaction, in a backup, and in an older folder', async () => {
    const data = path.join(folder, 'data')
    mkdirSync(data, { mode: 0o755 })
    chmodSync(data, 0o755)
    const store = await FileStore.open(data)
    const copy = path.join(folder, 'copy')
    await store.backup(copy)
    await store.compact()
    for (const each of [data, copy]) {
      expect(modeOf(each)).toBe('700')
      for (const file of readdirSync(each).filter((name) => name.endsWith('.mdb')))
        expect([file, modeOf(path.join(each, file))]).toEqual([file, '600'])
    }
    await store.stop()
    chmodSync(path.join(data, 'data.mdb'), 0o644)
    const again = await FileStore.open(data)
    expect(modeOf(path.join(data, 'data.mdb'))).toBe('600')
    await again.stop()
  })
})

describe('carillon serve on a file store', () => {
  it('seals targets with a key of its own in the folder, which only its user can read', async () => {
    const { CliProcess } = await import('../cli/cli-process.js')
    const cwd = mkdtempSync(path.join(folder, 'serve-'))
    const data = path.join(cwd, 'carillon-data')
    const body = JSON.stringify({
      type: 'webhook',
      url,
      secret: secret(7),
      headers: { 'x-token': 'hush-hush' },
    })
    for (const _ of [1, 2]) {
      await using server = new CliProcess(['serve', '--port', '0', '--auth', 'false'], { cwd })
      await server.waitForOutput(/curl .*\n/)
      const at = /http:\/\/\S+/.exec(server.out)![0]
      const headers = { 'content-type': 'application/json' }
      const put = await fetch(`${at}/v1/targets/a`, { method: 'PUT', headers, body })
      expect(put.status).toBe(200)
      server.child.kill('SIGTERM')
      expect(await server.ended).toBe(0)
    }
    expect(modeOf(path.join(data, 'secret.key'))).toBe('600')
    const bytes = readFileSync(path.join(data, 'data.mdb'))
    expect(bytes.includes('sealed-1:')).toBe(true)
    expect(bytes.includes('hush-hush')).toBe(false)
    expect(bytes.includes(secret(7).slice(6, 30))).toBe(false)
  })
})
