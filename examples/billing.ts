// Billing on the 31st: months without one bill on their last day, at nine in the customer's own zone.
import { monthly, timer } from 'carillon'
import { testTimers } from 'carillon/testing'

const bill = timer<{ cents: number }>('bill')

await using timers = await testTimers({ start: Date.UTC(2027, 0, 1) })
const bills: string[] = []
timers.handle(bill, ({ key, payload, dueAt, id }) => {
  // The id is the same on every attempt at this occurrence, so the payment provider bills once.
  const day = new Date(dueAt).toISOString()
  bills.push(day)
  console.log(`${day} ${key}: ${payload.cents} cents, idempotency key ${id.slice(0, 8)}…`)
})

const on = monthly({ day: 31, at: '09:00', zone: 'America/New_York', invalidDate: 'backward' })
for (const { local } of on.preview(3, { from: Date.UTC(2027, 0, 1) })) console.log(`will bill on ${local}`)
await timers.set(bill, 'customer:7', { on, payload: { cents: 1900 } })

await timers.advance('365d')
console.log(
  `${bills.length} bills in a year, on ${new Set(bills.map((day) => day.slice(8, 10))).size} different days`,
)
