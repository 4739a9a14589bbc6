// A timer that calls a URL, and a receiver that checks the signature and acts once on each message.
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openTimers, timer, webhook, WebhookError } from 'carillon'
import { WebhookVerifier } from 'carillon/webhooks'

const secret = `whsec_${randomBytes(32).toString('base64')}`
const verifier = new WebhookVerifier(secret)
const seen = new Set<string>()
let isBusy = true

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    try {
      const { id, message } = verifier.verify(Buffer.concat(chunks), request.headers)
      if (isBusy) {
        isBusy = false
        console.log('busy: come again')
        response.writeHead(503).end()
      } else if (seen.has(id)) {
        response.writeHead(200).end('seen before')
      } else {
        seen.add(id)
        console.log(`remind of ${(message as { data: { orderId: string } }).data.orderId}`)
        response.writeHead(204).end()
      }
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error
      console.log(`refused: ${error.code}`)
      response.writeHead(401).end()
    }
  })
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/timers`

// A request without the right signature is refused.
await fetch(url, { method: 'POST', body: '{"type":"remind"}' })

const timers = await openTimers({ store: 'memory:' })
const remind = timer<{ orderId: string }>('remind', { retry: { attempts: 3, backoff: '10ms..50ms' } })
timers.deliver(remind, webhook(url, { secret }))
await timers.start()
await timers.set(remind, 'order:7', { in: '50ms', payload: { orderId: '7' } })
while (seen.size === 0) await new Promise((resolve) => setTimeout(resolve, 10))
await timers.stop()
server.close()
console.log(`${seen.size} message dealt with`)
