import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { PoolLedger } from './pools/pool-ledger.js'

const program = fileURLToPath(new URL('../../.carillon/run/test/servers/pools/chaos.js', import.meta.url))
const MAX_MS = 300_000

describe('three workers with kinds of their own', () => {
  it.each(['postgres', 'redis'])(
    'start every timer where it is handled on one %s, through a deploy that adds, renames and drops kinds (npm run chaos -- pools tries more)',
    (server) => {
      const args = [program, '--server', server, '--timers', '900', '--rate', '150', '--pause', '300']
      const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' })
      expect(stderr).toBe('')
      expect(stdout).toMatch(/: 900 timers, all started where they are handled, none early;/)
      expect(status).toBe(0)
      console.log(stdout.trim())
    },
    MAX_MS,
  )
})

describe('the ledger of the trials with pools', () => {
  const worker = { name: 'a', kinds: ['mail'], upFrom: 0, upUntil: 50_000 }

  function faultsAfter(...firings: readonly Parameters<PoolLedger['fired']>[0][]): string {
    const ledger = new PoolLedger()
    ledger.set('mail', 'k', 10_000)
    for (const firing of firings) ledger.fired(firing, worker)
    ledger.finish()
    return ledger.faults.join('\n')
  }

  it('finds no fault if the timer starts once, where it is handled', () => {
    expect(faultsAfter(['mail', 'k', 10_000, 10_003])).toBe('')
  })

  it('finds a timer that never starts, starts early, starts as another kind, or was never set', () => {
    expect(faultsAfter()).toMatch(/never started/)
    expect(faultsAfter(['mail', 'k', 10_000, 9_999])).toMatch(/1 ms early/)
    expect(faultsAfter(['image', 'k', 10_000, 10_000])).toMatch(/of kind mail started in a as image/)
    expect(faultsAfter(['mail', 'k', 10_000, 10_000], ['mail', 'l', 10_000, 10_000])).toMatch(
      /nobody had set/,
    )
  })

  it('counts lateness only for kinds that have a handler, and apart while workers are replaced', () => {
    const ledger = new PoolLedger()
    for (const [key, kind, dueAt] of [
      ['a', 'mail', 10_000],
      ['b', 'image', 10_000],
      ['c', 'mail', 49_000],
      ['d', 'mail', 30_000],
    ] as const) {
      ledger.set(kind, key, dueAt)
      ledger.fired([kind, key, dueAt, dueAt + 7], { name: 'x', kinds: [kind] })
    }
    const late = ledger.lateness([worker, { kinds: ['image'], upFrom: 31_000, upUntil: 90_000 }])
    expect(late).toEqual({ steady: [7], deploying: [7], waited: 2 })
  })
})
