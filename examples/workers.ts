// Workers that cannot be called: they ask for what is due, answer by receipt, and one that dies loses nothing.
import { openTimers, timer } from 'carillon'

const timers = await openTimers({ store: 'memory:' })
const film = timer<{ title: string }>('film')

// No handler in this program: where its timers go is kept in the store, as a server's users would have it.
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
