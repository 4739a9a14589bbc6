// A server, and a program that sets and handles its timers over HTTP: the same calls, with a URL as the store.
import { openTimers, timer } from 'carillon'
import { Client } from 'carillon/client'
import { Server } from 'carillon/server'

const server = await Server.start({ store: 'memory:', port: 0 })

const parcel = timer<{ to: string }>('parcel', { retry: { attempts: 5, backoff: '10ms..50ms' } })
const timers = await openTimers({ store: server.url, apiKey: server.firstToken! })

const delivered: string[] = []
timers.handle(parcel, (firing) => {
  if (firing.key === 'p3' && firing.attempt === 1) throw new Error('nobody at home')
  delivered.push(firing.payload.to)
  console.log(`${firing.key} to ${firing.payload.to}, attempt ${firing.attempt}`)
})
await timers.start()

// A web page can do this, too.
const client = new Client(server.url, { apiKey: server.firstToken! })
await client.set('parcel', 'p1', { in: 50, payload: { to: 'Ada' } })
await client.setMany('parcel', [
  { key: 'p2', in: 60, payload: { to: 'Bob' } },
  { key: 'p3', in: 70, payload: { to: 'Cleo' } },
  { key: 'p4', in: '1h', payload: { to: 'Dora' } },
])
console.log(`p4 was ${await timers.cancel(parcel, 'p4')}`)

while (delivered.length < 3) await new Promise((resolve) => setTimeout(resolve, 10))
await timers.stop()
const { items } = await client.list()
await server.stop()
console.log(`${delivered.toSorted().join(', ')} have theirs, ${items.length} left`)
