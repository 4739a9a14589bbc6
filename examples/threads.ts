// Handlers on threads: they compute for long, one even never yields, and the event loop of this program stays free.
import { openTimers, timer } from 'carillon'

const primes = timer<number>('primes', { timeout: '2s', retry: { backoff: '10ms..50ms' } })
const ended: string[] = []
const timers = await openTimers({
  store: 'memory:',
  logger: false,
  onEvent: (event) => {
    if (event.type !== 'failed') return
    ended.push(event.firing.key)
    console.log(`${event.firing.key}, attempt ${event.firing.attempt}: ${String(event.error)}`)
  },
})

// Resolves once both threads have loaded the module.
await timers.handle(primes, new URL('./threads/primes.js', import.meta.url), { threads: 2 })
await timers.start()

for (const below of [10_000, 20_000, 30_000])
  await timers.set(primes, `below ${below}`, { in: 0, payload: below })
await timers.set(primes, 'endless', { in: 0, payload: 1000 })
await timers.set(primes, 'none', { in: 0, payload: 1 })

let turns = 0
while ((await timers.stats()).pending > 0) {
  turns++
  await new Promise((resolve) => setTimeout(resolve, 10))
}
console.log(`the event loop had ${turns} turns meanwhile`)
const { items } = await timers.dead({ kind: primes })
await timers.stop()
console.log(
  `failed attempts: ${ended.toSorted().join(', ')}; dead letters: ${items.map(({ key }) => key).join(', ')}`,
)
