// The code that processes and functions share: what a birthday is, how to set it, and what to do when it is due.
// The strategy is claim, so any number of processes and functions can run at once on one database. The transaction
// that settles the firing also writes the message, so it is written exactly once.
import { openTimers, timer, type TimersApi, yearly } from 'carillon'

export interface User {
  readonly id: string
  readonly month: number
  readonly day: number
  /** Local time of day, such as '09:00'. */
  readonly at: string
  readonly zone: string
}

const birthday = timer<{ userId: string }>('birthday', { retry: { attempts: 5, backoff: '1s..1h' } })

/** Timers on a database, with the handler for birthdays. `by` is stored with each message. */
export async function openBirthdays(store: string, by: string): Promise<TimersApi> {
  const timers = await openTimers({ store, engine: { strategy: 'claim' }, history: 'all' })
  timers.handle(
    birthday,
    async ({ payload, occurrence, dueAt, transaction }) => {
      await transaction.query(
        'insert into birthday_message (user_id, occurrence, due_at, sent_by) values ($1, $2, $3, $4)',
        [payload.userId, occurrence, new Date(dueAt), by],
      )
    },
    { transaction: true },
  )
  return timers
}

/** Users born on February 29 get their message on February 28 in common years. */
export async function setBirthday(timers: TimersApi, { id, ...date }: User): Promise<void> {
  await timers.set(birthday, id, {
    on: yearly({ ...date, invalidDate: 'backward' }),
    payload: { userId: id },
  })
}
