import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Measurement } from '../harness/bench.js'
import { type Attack, type Attacked, attacks, type AttackTask } from './attacker.js'
import { Connection, type Served } from './connection.js'
import { filled, onServer } from './measure.js'
import { OtherProcess } from './other-process.js'
import type { Lateness, TenantTask } from './tenant.js'

const SECONDS = 5
const RESOLUTION_MS = 1

/** The lateness of one tenant while another attacks, and how long a turn of the event loop lasts at most. */
export async function measureHostile(n: number): Promise<Measurement> {
  return await onServer('file', async (served) => {
    await filled(served, n)
    const mine = await keyFor(served, 'tenant')
    const theirs = await keyFor(served, 'attacker')
    const admin = new Connection(mine.admin)
    await admin.send('PUT', '/v1/targets/tenant', JSON.stringify({ type: 'lease' }))
    const other = new Connection(theirs.admin)
    await other.send('PUT', '/v1/targets/log', JSON.stringify({ type: 'log' }))
    const tenant = new OtherProcess<TenantTask, Lateness>(new URL('tenant.js', import.meta.url).href)
    const attacker = new OtherProcess<AttackTask, Attacked>(new URL('attacker.js', import.meta.url).href)
    try {
      const measured = async (attack?: Attack) => {
        const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
        delay.enable()
        const [lateness, sent] = await Promise.all([
          tenant.ask({ ...mine.admin, seconds: SECONDS }),
          attack === undefined ? undefined : attacker.ask({ ...theirs.admin, attack, seconds: SECONDS }),
        ])
        delay.disable()
        return { ...lateness, requests: sent?.requests ?? 0, longestMs: delay.max / 1e6 - RESOLUTION_MS }
      }
      await measured()
      const quiet = await measured()
      const notes: string[] = [line('quiet', quiet)]
      let worst = 0
      let longest = 0
      for (const attack of attacks) {
        const found = await measured(attack)
        notes.push(line(attack, found))
        worst = Math.max(worst, found.p99Ms)
        longest = Math.max(longest, found.longestMs)
      }
      return {
        metrics: {
          'late quiet': quiet.p99Ms,
          'late attacked': worst,
          'late ratio': worst / Math.max(1, quiet.p99Ms),
          'longest turn': longest,
        },
        checks: { refused: quiet.refused },
        notes,
      }
    } finally {
      tenant.stop()
      attacker.stop()
      await Promise.all([admin.close(), other.close()])
    }
  })
}

function line(
  name: string,
  found: Lateness & { readonly requests: number; readonly longestMs: number },
): string {
  return `${name}: ${found.requests} requests; ${found.fired} firings of the tenant, late p50 ${found.p50Ms} p99 ${found.p99Ms} ms; longest turn ${found.longestMs.toFixed(0)} ms`
}

/** An admin key that opens one namespace. */
async function keyFor(served: Served, namespace: string): Promise<{ readonly admin: Served }> {
  const connection = new Connection(served)
  const made = await connection.ask('POST', '/v1/keys', { name: namespace, scope: 'admin', namespace })
  await connection.close()
  return { admin: { url: served.url, token: (made as { readonly token: string }).token } }
}
