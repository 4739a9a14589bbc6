// Workers that pull: they lease due firings and answer by receipt. If a worker dies, no firing is lost.
import { openTimers, timer } from 'carillon'

const timers = await openTimers({ store: 'memory:' })
const film = timer<{ title: string }>('film')

// This program has no handler: the target of the kind is in the store, as with a server.
await timers.setTarget(film, {
  type: 'lease',
  duration: '150ms',
  retry: { attempts: 5, backoff: '10ms..50ms' },
})
await timers.start()

const titles = ['Metropolis', 'Nosferatu', 'Sunrise', 'Faust', 'The Kid', 'Safety Last']
await timers.setMany(
  film,
  titles.map((title, n) => ({ in: 20 * n, payload: { title } })),
)

const done: string[] = []
let isDying = true

async function work(name: string): Promise<void> {
  while (done.length < titles.length) {
    for (const { receipt, payload, attempt } of await timers.lease(film, { max: 2, wait: '100ms' })) {
      if (isDying) {
        isDying = false
        console.log(`${name} dies with ${payload.title}`)
        return
      }
      await timers.extend(receipt, '1s')
      await new Promise((resolve) => setTimeout(resolve, 10))
      if ((await timers.ack(receipt)) === 'acked') done.push(payload.title)
      console.log(`${name} has done ${payload.title}, attempt ${attempt}`)
    }
  }
}

await Promise.all([work('Ada'), work('Bob'), work('Cleo')])
await timers.stop()
console.log(`${new Set(done).size} films done, once each: ${done.length === titles.length}`)
