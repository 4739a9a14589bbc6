// Birthday messages at 9:00 local time: once a year for each user, wherever they live and move, February 29
// included. The next year is set in the same write that settles this one; failures are retried, then kept as
// dead letters; and for each message it can be told when it was set, due and sent, after how many attempts.
import { type Timers, timer, yearly } from 'carillon'
import { testTimers } from 'carillon/testing'

interface User {
  readonly id: string
  readonly month: number
  readonly day: number
  readonly zone: string
}
const birthday = timer<{ userId: string }>('birthday', { retry: { attempts: 4, backoff: '1m..1h' } })

/** Whoever is born on February 29 is congratulated on February 28 in common years. */
async function setBirthday(timers: Timers, { id, month, day, zone }: User): Promise<void> {
  await timers.set(birthday, id, {
    on: yearly({ month, day, at: '09:00', zone, invalidDate: 'backward' }),
    payload: { userId: id },
  })
}

await using timers = await testTimers({ start: Date.UTC(2026, 0, 1) })
const users = new Map<string, User>()
const sent = new Map<string, { user: string; local: string }>()
const trouble = new Map([
  ['ana', 2],
  ['eve', 99],
])

timers.handle(birthday, ({ payload: { userId }, attempt, occurrence, dueAt, id }) => {
  const failures = trouble.get(userId) ?? 0
  if (occurrence === 0 && attempt <= failures) throw new Error(`mail server said 451 (${attempt})`)
  const { zone } = users.get(userId)!
  const local = new Date(dueAt).toLocaleString('sv-SE', { timeZone: zone })
  // Given to the mail service as idempotency key, the id makes one message of several attempts.
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

// Cy moves to Auckland and corrects the date: the same key is set anew, nothing else is to be done.
await timers.advance('31d')
users.set('cy', { id: 'cy', month: 7, day: 2, zone: 'Pacific/Auckland' })
await setBirthday(timers, users.get('cy')!)
await timers.advance(Date.UTC(2029, 0, 1) - timers.clock.now())

// When was it set, when was it due, when was it sent, after how many attempts, and what went wrong?
console.log('\nwhat became of ana in 2026:')
const { told, events } = await timers.why(birthday, 'ana')
for (const line of told.slice(0, 4)) console.log(`  ${line}`)
const attempts = events.filter(({ event, occurrence }) => event === 'attempt' && occurrence === 0)
console.log(
  `  ${attempts.length} attempts, the last ${attempts.at(-1)!.outcome === 'next' ? 'went well' : 'failed'}`,
)

// Eve's message could not be sent in 2026. It was kept, and the years after it came as they should.
const { items } = await timers.dead({ kind: birthday })
for (const { key, reason, attempts: made } of items)
  console.log(`${key} was given up after ${made}: ${reason}`)
trouble.clear()
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
