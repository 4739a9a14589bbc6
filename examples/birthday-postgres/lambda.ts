// An AWS Lambda function that EventBridge calls every minute. It makes one bounded pass over the due timers. Two calls
// at once, or two calls for one event, do no harm.
import process from 'node:process'
import type { Drained, TimersApi } from 'carillon'
import { openBirthdays } from './birthdays.js'

// Reused while the function stays warm.
let timers: Promise<TimersApi> | undefined

export async function handler(
  _event: { readonly source?: string; readonly time?: string },
  context: { getRemainingTimeInMillis(): number },
): Promise<Drained> {
  timers ??= openBirthdays(process.env['DATABASE_URL'] ?? '', 'lambda')
  // Leave time for the attempts to end.
  const maxTime = Math.max(1, context.getRemainingTimeInMillis() - 15_000)
  return await (await timers).drain({ maxTime })
}

/** Only for tests and demonstrations: Lambda ends its own processes. */
export async function stop(): Promise<void> {
  await (await timers)?.stop()
  timers = undefined
}
