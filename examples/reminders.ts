// Reminders that move: an appointment has a reminder a day before it, wherever the appointment moves.
import { timer, type TimersApi } from 'carillon'
import { testTimers } from 'carillon/testing'

const remind = timer<{ email: string }>('appointment-reminder')

/** Called when an appointment is made, and whenever it changes: the same key again replaces the reminder. */
async function remindBefore(timers: TimersApi, id: string, at: Date, email: string): Promise<void> {
  await timers.set(remind, id, { at: at.getTime() - 86_400_000, payload: { email } })
}

await using timers = await testTimers({ start: Date.UTC(2026, 2, 1, 9) })
const sent: string[] = []
timers.handle(remind, ({ key, payload, firedAt }) => {
  sent.push(key)
  console.log(`${new Date(firedAt).toISOString()}: ${payload.email}, ${key} is tomorrow`)
})

await remindBefore(timers, 'dentist', new Date('2026-03-10T14:00:00Z'), 'ada@example.org')
await remindBefore(timers, 'optician', new Date('2026-03-11T10:00:00Z'), 'ada@example.org')
// The dentist moves the appointment, and Ada cancels the other one.
await remindBefore(timers, 'dentist', new Date('2026-03-17T14:00:00Z'), 'ada@example.org')
const outcome = await timers.cancel(remind, 'optician')
// 'cancelled': the reminder will not be sent. 'firing' or 'settled': it is too late.
console.log(`the reminder of the optician was ${outcome}`)

await timers.advance('30d')
console.log(`${sent.length} reminder, for the ${sent.join()}`)
