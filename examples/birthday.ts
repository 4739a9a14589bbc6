// Birthday messages at 9:00 local time, once a year for each user, in every zone, February 29 included. The write that
// settles a message also sets the next year's. Failures are retried, then kept as dead letters. The history says of
// each message when it was set, due and sent, and how many attempts it took.
import { type Timers, timer, yearly } from 'carillon'
import { testTimers } from 'carillon/testing'

interface User {
  readonly id: string
  readonly month: number
  readonly day: number
  readonly zone: string
}
const birthday = timer<{ userId: string }>('birthday', { retry: { attempts: 4, backoff: '1m..1h' } })

/** Users born on February 29 get their message on February 28 in common years. */
async function setBirthday(timers: Timers, { id, month, day, zone }: User): Promise<void> {
  await timers.set(birthday, id, {
    on: yearly({ month, day, at: '09:00', zone, invalidDate: 'backward' }),
    payload: { userId: id },
  })
}

await using timers = await testTimers({ start: Date.UTC(2026, 0, 1) })
const users = new Map<string, User>()
const sent = new Map<string, { user: string; local: string }>()
const failuresOf = new Map([
  ['ana', 2],
  ['eve', 99],
])

timers.handle(birthday, ({ payload: { userId }, attempt, occurrence, dueAt, id }) => {
  const failures = failuresOf.get(userId) ?? 0
  if (occurrence === 0 && attempt <= failures) throw new Error(`mail server said 451 (${attempt})`)
  const { zone } = users.get(userId)!
  const local = new Date(dueAt).toLocaleString('sv-SE', { timeZone: zone })
  // As an idempotency key of the mail service, the id turns several attempts into one message.
  sent.set(id, { user: userId, local })
  console.log(`${local} ${zone}: happy birthday, ${userId}! (attempt ${attempt})`)
})

for (const user of [
  { id: 'ana', month: 3, day: 15, zone: 'America/New_York' },
  { id: 'bo', month: 2, day: 29, zone: 'Asia/Tokyo' },
  { id: 'cy', month: 7, day: 1, zone: 'Europe/London' },
  { id: 'eve', month: 5, day: 5, zone: 'Africa/Nairobi' },
]) {
  users.set(user.id, user)
  await setBirthday(timers, user)
}

// Cy moves to Auckland and corrects the date: set the same key again, and that is all.
await timers.advance('31d')
users.set('cy', { id: 'cy', month: 7, day: 2, zone: 'Pacific/Auckland' })
await setBirthday(timers, users.get('cy')!)
await timers.advance(Date.UTC(2029, 0, 1) - timers.clock.now())

// When was it set, due and sent, after how many attempts, and what failed?
console.log('\nwhat became of ana in 2026:')
const { told, events } = await timers.why(birthday, 'ana')
for (const line of told.slice(0, 4)) console.log(`  ${line}`)
const attempts = events.filter(({ event, occurrence }) => event === 'attempt' && occurrence === 0)
console.log(
  `  ${attempts.length} attempts, the last ${attempts.at(-1)!.outcome === 'next' ? 'succeeded' : 'failed'}`,
)

// Eve's message of 2026 could not be sent. It became a dead letter, and the later years were on time.
const { items } = await timers.dead({ kind: birthday })
for (const { key, reason, attempts: made } of items)
  console.log(`${key} became a dead letter after ${made}: ${reason}`)
failuresOf.clear()
await timers.redrive({ kind: birthday })
await timers.advance('1m')

const years = (user: string) =>
  [...sent.values()].filter((each) => each.user === user).map(({ local }) => local.slice(0, 10))
console.log(`bo, born on February 29: ${years('bo').join(', ')}`)
console.log(`cy, after the move: ${years('cy').join(', ')}`)
const isOnce = ['ana', 'bo', 'cy'].every(
  (user) => new Set(years(user).map((day) => day.slice(0, 4))).size === 3,
)
console.log(`${sent.size} messages in three years, one a year for each: ${isOnce}`)
