import { Agent, type Dispatcher } from 'undici'
import type { Measurement } from '../harness/bench.js'
import { Receiver } from './receiver.js'

/** Bare undici: `n` POSTs of the same size with `dispatch`, on as many connections. */
export async function measureFloor(n: number, connections: number): Promise<Measurement> {
  const receiver = await Receiver.start()
  const agent = new Agent({ connections, pipelining: 1 })
  const body = JSON.stringify({
    type: 'bench',
    timestamp: new Date(0).toISOString(),
    key: 'bench-timer-00000000',
    occurrence: 0,
    data: { order: 0 },
  })
  const headers = {
    'content-type': 'application/json',
    'webhook-id': `msg_${'x'.repeat(43)}`,
    'webhook-timestamp': '1767225600',
    'webhook-signature': `v1,${'x'.repeat(44)}`,
    'carillon-attempt': '1',
  }
  const post = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart: () => undefined,
        onResponseStart: () => undefined,
        onResponseData: () => undefined,
        onResponseEnd: () => resolve(),
        onResponseError: (_, error) => reject(error),
      }
      agent.dispatch({ origin: receiver.url, path: '/', method: 'POST', headers, body }, handler)
    })
  const round = async (total: number): Promise<number> => {
    let left = total
    const caller = async (): Promise<void> => {
      while (left-- > 0) await post()
    }
    const from = performance.now()
    await Promise.all(Array.from({ length: connections }, caller))
    return performance.now() - from
  }
  try {
    await round(Math.min(n, 5000))
    const cpu = process.cpuUsage()
    const ms = await round(n)
    const { user, system } = process.cpuUsage(cpu)
    return {
      metrics: { sent: n / ms, CPU: (user + system) / n },
      checks: { received: (await receiver.count()) - Math.min(n, 5000) },
      notes: [],
    }
  } finally {
    await agent.close()
    receiver.stop()
  }
}
