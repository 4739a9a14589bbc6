// A function of AWS Lambda that EventBridge calls every minute: one bounded pass over what is due. Two at once, or one
// that is called twice for one event, do no harm.
import process from 'node:process'
import type { Drained, Timers } from 'carillon'
import { openBirthdays } from './birthdays.js'

// Kept while the function stays warm.
let timers: Promise<Timers> | undefined

export async function handler(
  _event: { readonly source?: string; readonly time?: string },
  context: { getRemainingTimeInMillis(): number },
): Promise<Drained> {
  timers ??= openBirthdays(process.env['DATABASE_URL'] ?? '', 'lambda')
  // What was begun must also end in time.
  const maxTime = Math.max(1, context.getRemainingTimeInMillis() - 15_000)
  return await (await timers).drain({ maxTime })
}

/** Only for tests and demonstrations: Lambda ends its processes by itself. */
export async function stop(): Promise<void> {
  await (await timers)?.stop()
  timers = undefined
}
