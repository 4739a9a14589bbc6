import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { openTimers, timer, webhook } from '../../src/index.js'
import { until } from '../eventually.js'

const HANGING = 100
const FAILING = 100
const WORKING = 800
const EACH = 3
const secret = `whsec_${randomBytes(32).toString('base64')}`

describe('webhooks to 1,000 targets', () => {
  it('reach the 800 targets that work while 100 hang and 100 fail', async () => {
    const earlyBy: number[] = []
    let received = 0
    let hanging = 0
    let abandoned = 0
    const server: Server = createServer((request, response) => {
      const at = Date.now()
      const target = Number(request.url!.slice(1))
      if (target < HANGING) {
        hanging++
        // A request that hangs ends only when its sender gives up.
        request.on('close', () => abandoned++)
        return
      }
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        if (target < HANGING + FAILING) {
          response.writeHead(500).end()
          return
        }
        const { data } = JSON.parse(Buffer.concat(chunks).toString()) as { data: { dueAt: number } }
        if (at < data.dueAt) earlyBy.push(data.dueAt - at)
        received++
        response.writeHead(204).end()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const timers = await openTimers({ store: 'memory:', engine: { stopMs: 500 } })
    try {
      const kinds = Array.from({ length: HANGING + FAILING + WORKING }, (_, i) =>
        timer<{ dueAt: number }>(`target-${i}`),
      )
      for (const [i, kind] of kinds.entries())
        timers.deliver(kind, webhook(`${url}/${i}`, { secret, timeout: '10m' }))
      await timers.start()
      const start = Date.now() + 500
      for (const [i, kind] of kinds.entries()) {
        await timers.setMany(
          kind,
          Array.from({ length: EACH }, (_, n) => {
            const dueAt = start + n * 1000 + ((i * 7919) % 1000)
            return { key: `k${n}`, at: dueAt, payload: { dueAt } }
          }),
        )
      }
      // A target that waited for one that hangs would wait for ten minutes.
      await until('every message to a target that works', () => received >= WORKING * EACH, 100_000)
      await until('a request that hangs at each of its targets', () => hanging >= HANGING, 100_000)
      expect(abandoned).toBe(0)
      expect(received).toBe(WORKING * EACH)
      expect(earlyBy).toEqual([])
    } finally {
      await timers.stop()
      server.closeAllConnections()
      server.close()
    }
  }, 250_000)
})
