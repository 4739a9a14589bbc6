// Birthday messages on PostgreSQL. The same code (examples/birthday-postgres/) runs as two processes at once, and as
// two serverless functions at once. It needs a database: node birthday-postgres.js postgres://…
// It uses the schema `birthday_example` and the table `birthday_message`, and removes both.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { openBirthdays, setBirthday, type User } from './birthday-postgres/birthdays.js'
import fetchStyle from './birthday-postgres/fetch.js'
import { handler, stop } from './birthday-postgres/lambda.js'

const [url] = process.argv.slice(2)
if (url === undefined) throw new Error('give the URL of a database: node birthday-postgres.js postgres://…')
const store = new URL(url)
store.searchParams.set('schema', 'birthday_example')
process.env['DATABASE_URL'] = store.href

const database = new pg.Client({ connectionString: url })
await database.connect()
await cleanUp()
// The table has no unique key: the transaction that settles the firing prevents a second message.
await database.query(
  'create table birthday_message (user_id text, occurrence integer, due_at timestamptz, sent_by text)',
)

console.log('two processes at once:')
const processes = await Promise.all(['process-1', 'process-2'].map((name) => started(name)))
const setter = await openBirthdays(store.href, 'setter')
const first = usersBornIn(4, 40, 'early')
for (const user of first) await setBirthday(setter, user)
await until(async () => (await messages(first)).length >= first.length)
for (const each of processes) {
  each.kill('SIGTERM')
  await once(each, 'exit')
}
tell(await messages(first))

console.log('two functions at once, Lambda and fetch:')
const second = usersBornIn(4, 40, 'late')
for (const user of second) {
  const body = JSON.stringify(user)
  await fetchStyle.fetch(new Request('https://example.org/birthdays', { method: 'PUT', body }))
}
await sleep(5500)
const [byLambda, byFetch] = await Promise.all([
  handler({ source: 'aws.events' }, { getRemainingTimeInMillis: () => 60_000 }),
  fetchStyle.fetch(new Request('https://example.org/drain', { method: 'POST' })),
])
console.log(`  Lambda is caught up: ${byLambda.isCaughtUp}, fetch answers ${byFetch.status}`)
tell(await messages(second))

// The transaction that wrote this year's message also set the timer for next year.
const { items } = await setter.list({ limit: 1000 })
const inAYear = items.filter(
  ({ occurrence, dueAt }) => occurrence === 1 && dueAt > Date.now() + 300 * 86_400_000,
)
const all = await messages([...first, ...second])
const isOnce = new Set(all.map(({ user_id }) => user_id)).size === all.length
await Promise.all([stop(), fetchStyle.stop(), setter.stop()])
await cleanUp()
await database.end()
console.log(`${all.length} messages, one for each: ${isOnce}; ${inAYear.length} wait for next year`)

/** Users all over the world whose birthday message is due in `seconds` seconds. */
function usersBornIn(seconds: number, count: number, name: string): User[] {
  const zones = ['America/New_York', 'Europe/London', 'Asia/Tokyo', 'Pacific/Auckland', 'Africa/Nairobi']
  const instant = new Date(Math.ceil(Date.now() / 1000) * 1000 + seconds * 1000)
  return Array.from({ length: count }, (_, i) => {
    const zone = zones[i % zones.length]!
    const [date, at] = instant.toLocaleString('sv-SE', { timeZone: zone }).split(' ') as [string, string]
    const [, month, day] = date.split('-').map(Number) as [number, number, number]
    return { id: `${name}-${i}`, month, day, at, zone }
  })
}

interface Message {
  readonly user_id: string
  readonly sent_by: string
}

async function messages(users: readonly User[]): Promise<Message[]> {
  const { rows } = await database.query<Message>(
    'select user_id, sent_by from birthday_message where user_id = any($1)',
    [users.map(({ id }) => id)],
  )
  return rows
}

function tell(sent: readonly Message[]): void {
  const names = [...new Set(sent.map(({ sent_by }) => sent_by))].toSorted()
  for (const name of names) {
    console.log(`  ${name} sent ${sent.filter(({ sent_by }) => sent_by === name).length}`)
  }
}

async function started(name: string) {
  const program = fileURLToPath(new URL('birthday-postgres/process.js', import.meta.url))
  const child = spawn(process.execPath, [program, store.href, name], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  return child
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 30_000
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error('not all messages were written within 30 s')
    await sleep(50)
  }
}

async function cleanUp(): Promise<void> {
  await database.query(
    'drop schema if exists birthday_example cascade; drop table if exists birthday_message',
  )
}
