import { describe, expect, it } from 'vitest'
import { openStore } from '../../../src/store/index.js'
import { eventually } from '../../eventually.js'
import { playClaims } from '../claim-scenes.js'
import { isAcked, isEarly, isFired, keyOf, startChild, useChildren } from './chaos-children.js'
import { newSchema, thisServer, usePostgres } from './scratch.js'

usePostgres()
useChildren()

const newUrl = () => `${thisServer().url}?schema=${newSchema()}` as const

describe('claims on PostgreSQL', () => {
  playClaims({ newUrl, port: () => Number(new URL(thisServer().url).port) })

  it('every acknowledged timer fires, and none early, though processes are killed or stopped beyond a lease', async () => {
    const url = newUrl()
    const store = await openStore(url, { strategy: 'claim' })
    const lines: string[] = []
    startChild(url, 'living', 0, lines)
    await eventually(() => expect(lines).toContain('ready living'), 20_000)
    const [dying, sleeping] = [
      startChild(url, 'dying', 1000, lines),
      startChild(url, 'sleeping', 1000, lines),
    ]
    await eventually(() => expect(lines.filter(isAcked).length).toBeGreaterThan(600), 20_000)
    dying.kill('SIGKILL')
    sleeping.kill('SIGSTOP')
    const acked = lines.filter(isAcked).map(keyOf)
    await eventually(() => {
      const fired = new Set(lines.filter(isFired).map(keyOf))
      expect(acked.filter((key) => !fired.has(key))).toEqual([])
    }, 20_000)
    sleeping.kill('SIGCONT')
    // The process goes on, and in the end no timer is left.
    await eventually(() => expect(lines).toContain('set sleeping'), 20_000)
    await eventually(async () => expect(await store.countRows()).toBe(0), 20_000)
    expect(sleeping.exitCode).toBeNull()
    expect(lines.filter(isEarly)).toEqual([])
    const { created, settled, replaced, dead } = await store.counts()
    expect({ settled: settled + replaced, dead }).toEqual({ settled: created, dead: 0 })
    const fired = lines.filter(isFired).map(keyOf)
    console.log(`${acked.length} acknowledged before, ${fired.length - new Set(fired).size} fired again`)
    await store.stop()
  }, 90_000)
})
