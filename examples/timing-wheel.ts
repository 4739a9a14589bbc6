// Timers by key: set, move, remove. A reminder moves on whenever the customer is active.
import { TimingWheel } from 'carillon/wheel'

const wheel = new TimingWheel<string, string>({
  intervalMs: 10,
  execute: (key, value) => console.log(`${key}: ${value}`),
  onError: (error, key) => console.error(`the reminder of ${key} failed`, error),
})

wheel.set('order:7', 'your basket misses you', '100ms')
wheel.set('order:8', 'never to be seen', '150ms')
wheel.set('order:9', 'also waiting', 120)

wheel.move('order:7', '200ms')
wheel.remove('order:8')

setTimeout(() => {
  console.log(`order:8 was removed, ${wheel.size === 0 ? 'nothing' : 'something'} more to ring`)
  wheel.stop()
}, 400)
