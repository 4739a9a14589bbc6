import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { openStore } from '../../../src/store/index.js'
import { eventually } from '../../eventually.js'
import { playClaims } from '../claim-scenes.js'
import { newSchema, thisServer, usePostgres } from './scratch.js'

usePostgres()

const child = fileURLToPath(
  new URL('../../../.carillon/run/test/store/postgres/chaos/child.js', import.meta.url),
)
const children: ChildProcess[] = []

afterEach(() => {
  for (const process of children.splice(0)) process.kill('SIGKILL')
})

const newUrl = (): string => `${thisServer().url}?schema=${newSchema()}`

describe('claims on PostgreSQL', () => {
  playClaims({ newUrl, port: () => Number(new URL(thisServer().url).port) })

  it('processes are killed and stopped for longer than a lease: what was acknowledged fires, none early', async () => {
    const url = newUrl()
    const store = await openStore(url, { strategy: 'claim' })
    const lines: string[] = []
    born(url, 'living', 0, lines)
    await eventually(() => expect(lines).toContain('ready living'), 20_000)
    const [dying, sleeping] = [born(url, 'dying', 1000, lines), born(url, 'sleeping', 1000, lines)]
    await eventually(() => expect(lines.filter(isAcked).length).toBeGreaterThan(600), 20_000)
    dying.kill('SIGKILL')
    sleeping.kill('SIGSTOP')
    const acked = lines.filter(isAcked).map(keyOf)
    await eventually(() => {
      const fired = new Set(lines.filter(isFired).map(keyOf))
      expect(acked.filter((key) => !fired.has(key))).toEqual([])
    }, 20_000)
    sleeping.kill('SIGCONT')
    // It goes on, and in the end nothing is left.
    await eventually(() => expect(lines).toContain('set sleeping'), 20_000)
    await eventually(async () => expect(await store.countRows()).toBe(0), 20_000)
    expect(sleeping.exitCode).toBeNull()
    expect(lines.filter((line) => isFired(line) && Number(line.split(' ')[2]) < 0)).toEqual([])
    const { created, settled, replaced, dead } = await store.counts()
    expect({ settled: settled + replaced, dead }).toEqual({ settled: created, dead: 0 })
    const fired = lines.filter(isFired).map(keyOf)
    console.log(`${acked.length} acknowledged before, ${fired.length - new Set(fired).size} fired again`)
    await store.stop()
  }, 90_000)
})

function isAcked(line: string): boolean {
  return line.startsWith('acked ')
}

function isFired(line: string): boolean {
  return line.startsWith('fired ')
}

function keyOf(line: string): string {
  return line.split(' ')[1]!
}

function born(store: string, name: string, count: number, lines: string[]): ChildProcess {
  const started = spawn(process.execPath, [child, store, name, String(count)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(started)
  createInterface({ input: started.stdout }).on('line', (line) => lines.push(line))
  return started
}
