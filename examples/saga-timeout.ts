// A saga with a timeout: an order is paid in time, or its steps are undone one by one.
import { Dead, timer } from 'carillon'
import { testTimers } from 'carillon/testing'

interface Undo {
  readonly steps: readonly string[]
}
const payment = timer<Undo>('payment-timeout', { retry: { attempts: 5, backoff: '1s..1m' } })
await using timers = await testTimers()

const undone: string[] = []
timers.handle(payment, async ({ key, payload, attempt, id }) => {
  const [step, ...rest] = payload.steps
  if (step === undefined) return
  if (step === 'release seats' && attempt === 1) throw new Error('the seat service is away')
  if (step === 'recall the parcel') throw new Dead('it was delivered already: somebody has to look at it')
  undone.push(`${key}: ${step}`)
  console.log(`${key}: ${step} (${id.split('/')[0]}, attempt ${attempt})`)
  // The next step is its own timer, so a crash between two steps loses neither.
  await timers.set(payment, `${key.split('#')[0]}#${rest.length}`, { in: 0, payload: { steps: rest } })
})

const steps = ['cancel the booking', 'release seats']
await timers.set(payment, 'order:1', { in: '15m', payload: { steps } })
await timers.set(payment, 'order:2', { in: '15m', payload: { steps } })
await timers.set(payment, 'order:3', { in: '15m', payload: { steps: ['recall the parcel'] } })

await timers.advance('10m')
// Paid in time, if the outcome is 'cancelled'. After 'firing', the order is already being undone.
console.log(`order:1 is paid, its timeout was ${await timers.cancel(payment, 'order:1')}`)
await timers.advance('10m')
console.log(`order:2 is paid too late: ${await timers.cancel(payment, 'order:2')}`)

const { items } = await timers.dead({ kind: payment })
for (const { key, reason } of items) console.log(`${key} became a dead letter: ${reason}`)
console.log(`1 paid, ${undone.length} steps undone, ${items.length} for a human`)
