import { describe, expect, it } from 'vitest'
import { during } from '../during.js'
import { Dead } from '../../src/delivery/index.js'
import { openTimers, timer, type TimerEvent, type Timers } from '../../src/front/index.js'
import { type Schedule, yearly } from '../../src/schedule/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { VirtualClock } from '../../src/time/index.js'

/** For a longer run: `BIRTHDAY_USERS=10000 npm test -- test/front/birthday-run.test.ts`. */
const USERS = Number(process.env['BIRTHDAY_USERS'] ?? 2000)
const ZONES = 40
const YEARS = [2027, 2028]
const START = Date.UTC(2026, 11, 31)
const DAY = 86_400_000
const MINUTE = 60_000

interface User {
  readonly id: string
  readonly month: number
  readonly day: number
  readonly zone: string
  readonly invalidDate: 'backward' | 'forward'
}

interface Message {
  readonly user: string
  readonly zone: string
  readonly dueAt: number
  readonly firedAt: number
  readonly attempt: number
}

// Longer intervals than by default, because two years are long. Shards still change owner within ten minutes.
const engine = {
  windowMs: DAY,
  settleMs: 30 * MINUTE,
  settleCount: 1,
  sweepMs: DAY,
  leaseMs: 240 * MINUTE,
  acquireMs: 10 * MINUTE,
  heartbeatMs: 10 * MINUTE,
  inboxPollMs: 60 * MINUTE,
  stallMs: DAY,
}

function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

function someZones(): string[] {
  const all = Intl.supportedValuesOf('timeZone')
  const chosen = new Set([
    'America/New_York',
    'Asia/Kolkata',
    'Australia/Lord_Howe',
    'Pacific/Apia',
    'Europe/London',
  ])
  for (let at = 0; chosen.size < ZONES; at += Math.floor(all.length / ZONES))
    chosen.add(all[at % all.length]!)
  return [...chosen]
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** The wall clock of a zone, computed by the platform and not by our own code. */
function local(at: number, zone: string): string {
  let format = formats.get(zone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
    formats.set(zone, format)
  }
  return format.format(at)
}

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

/** On which day a user gets the message in a year, with the rule for February 29. */
function dateIn(year: number, { month, day, invalidDate }: User): string {
  const isMissing = month === 2 && day === 29 && !isLeap(year)
  const [m, d] = isMissing ? (invalidDate === 'backward' ? [2, 28] : [3, 1]) : [month, day]
  return `${year}-${String(m).padStart(2, '0')}-${String(d).padStart(2, '0')}`
}

function scheduleOf({ month, day, zone, invalidDate }: User): Schedule {
  return yearly({ month, day, at: '09:00', zone, invalidDate })
}

const birthday = timer<{ userId: string }>('birthday', { retry: { attempts: 10, backoff: '1m..10m' } })

/** Two instances, one of which is replaced now and then, and the faults of the run. */
class BirthdayRun {
  readonly clock = new VirtualClock({ start: START })
  readonly store = new MemoryStore({ clock: this.clock, shardCount: 4 })
  readonly random = seeded(2026)
  readonly users = new Map<string, User>()
  readonly messages: Message[] = []
  readonly doomed = new Set<string>()
  /** Users whose message became a dead letter and was redriven later. */
  readonly bounced = new Set<string>()
  readonly instances: Timers[] = []
  thrown = 0
  replaced = 0
  redriven = 0
  /** The key under which a dead message was redriven. */
  readonly beside = new Map<string, string>()

  async open(): Promise<Timers> {
    const timers = await openTimers({
      store: this.store.connect(),
      clock: this.clock.fork(),
      random: this.random,
      engine,
      history: 'all',
      historyRetention: '2000d',
    })
    timers.handle(birthday, async (firing) => {
      const { userId } = firing.payload
      if (this.doomed.delete(userId)) {
        this.bounced.add(userId)
        throw new Dead('the address bounced')
      }
      if (this.random() < 0.05) {
        this.thrown++
        throw new Error('the mail server said 451')
      }
      // Sending takes a moment, so that stops and settlements can happen meanwhile.
      await new Promise<void>((resolve) => {
        this.clock.wakeAfter(200, resolve)
      })
      const { zone } = this.users.get(userId)!
      const { dueAt, firedAt, attempt } = firing
      this.messages.push({ user: userId, zone, dueAt, firedAt, attempt })
    })
    await timers.start()
    return timers
  }

  /** Advances the clock until the promise settles. */
  async during<T>(work: Promise<T>): Promise<T> {
    return await during(this.clock, work, 100)
  }

  async replaceOne(): Promise<void> {
    const at = this.replaced++ % 2
    await this.during(this.instances[at]!.stop())
    this.instances[at] = await this.during(this.open())
  }

  async run(): Promise<void> {
    const zones = someZones()
    for (let n = 0; n < USERS; n++) {
      // From January 3 to December 28, so that the run begins and ends in the same year in every zone.
      const date = new Date(Date.UTC(2024, 0, 3 + Math.floor(this.random() * 361)))
      const isLeapling = n % 100 === 0
      this.users.set(`u${n}`, {
        id: `u${n}`,
        month: isLeapling ? 2 : date.getUTCMonth() + 1,
        day: isLeapling ? 29 : date.getUTCDate(),
        zone: zones[n % ZONES]!,
        invalidDate: n % 200 === 0 ? 'backward' : 'forward',
      })
    }
    this.instances.push(await this.during(this.open()), await this.during(this.open()))
    await this.clock.advance(30 * MINUTE)
    const rows = [...this.users.values()].map((user) => ({
      key: user.id,
      on: scheduleOf(user),
      payload: { userId: user.id },
    }))
    for (let at = 0; at < rows.length; at += 1000) {
      await this.during(this.instances[0]!.setMany(birthday, rows.slice(at, at + 1000)))
    }
    const end = Date.UTC(2028, 11, 31)
    for (let week = 0; this.clock.now() < end; week++) {
      if (week % 4 === 1) await this.replaceOne()
      if (week % 13 === 2) await this.moveSome(zones)
      if (week === 8) this.doom()
      if (week === 12) {
        const { count, beside } = await this.during(this.instances[0]!.redrive({ kind: birthday }))
        this.redriven = count
        for (const { of, key } of beside) this.beside.set(of, key)
      }
      await this.clock.advance(Math.min(7 * DAY, end - this.clock.now()))
    }
  }

  /** Users who move or correct their date. Not within days of either birthday, where both could count. */
  async moveSome(zones: readonly string[]): Promise<void> {
    const now = this.clock.now()
    const year = new Date(now).getUTCFullYear()
    const moving: User[] = []
    for (const user of this.users.values()) {
      if (this.random() > 0.01 || user.day === 29) continue
      const away = Math.abs(Date.UTC(year, user.month - 1, user.day) - now)
      if (away < 5 * DAY || away > 300 * DAY) continue
      const moved = { ...user, zone: zones[Math.floor(this.random() * ZONES)]! }
      this.users.set(user.id, moved)
      moving.push(moved)
    }
    const set = moving.map((user) =>
      this.instances[1]!.set(birthday, user.id, { on: scheduleOf(user), payload: { userId: user.id } }),
    )
    await this.during(Promise.all(set))
  }

  /** Chooses some users whose next message cannot be sent. */
  doom(): void {
    const now = new Date(this.clock.now())
    for (const { id, month, day } of this.users.values()) {
      const days = (Date.UTC(now.getUTCFullYear(), month - 1, day) - now.getTime()) / DAY
      if (days > 3 && days < 20 && this.doomed.size < 20) this.doomed.add(id)
    }
  }

  /** When each timer is due next. */
  async standing(): Promise<Map<string, number>> {
    const dueAts = new Map<string, number>()
    let cursor: string | undefined
    do {
      const page = await this.instances[0]!.list({ kind: birthday, limit: 10_000, cursor })
      for (const { key, dueAt } of page.items) dueAts.set(key, dueAt)
      cursor = page.cursor
    } while (cursor !== undefined)
    return dueAts
  }

  async history(): Promise<Map<string, TimerEvent[]>> {
    const byUser = new Map<string, TimerEvent[]>()
    let cursor: string | undefined
    do {
      const page = await this.instances[0]!.history({ kind: birthday, limit: 10_000, cursor })
      for (const event of page.items) {
        const events = byUser.get(event.key)
        if (events === undefined) byUser.set(event.key, [event])
        else events.push(event)
      }
      cursor = page.cursor
    } while (cursor !== undefined)
    return byUser
  }
}

function grouped<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

describe('birthday timers over two years', () => {
  it(`reach each of ${USERS} users in ${ZONES} zones once a year at 9:00, and the history explains each message`, async () => {
    const run = new BirthdayRun()
    await run.run()

    // Each user gets one message a year, on the day, at nine in the user's zone.
    const byUser = grouped(run.messages, ({ user }) => user)
    const wrong: string[] = []
    for (const user of run.users.values()) {
      const got = byUser.get(user.id) ?? []
      const dates = got.map(({ dueAt, zone }) => local(dueAt, zone))
      const years = dates.map((date) => Number(date.slice(0, 4)))
      if (years.join() !== YEARS.join()) wrong.push(`${user.id}: ${dates.join(', ')}`)
      for (const { dueAt, zone } of got) {
        const date = local(dueAt, zone)
        const expected = `${dateIn(Number(date.slice(0, 4)), user)} 09:00:00`
        if (date !== expected && !run.bounced.has(user.id)) wrong.push(`${user.id}: ${date}, not ${expected}`)
      }
    }
    expect(wrong.slice(0, 5)).toEqual([])
    expect(run.messages).toHaveLength(USERS * YEARS.length)

    // First attempts are late only while a shard changes owner.
    const first = run.messages.filter(({ attempt }) => attempt === 1)
    const late = first.filter(({ firedAt, dueAt }) => firedAt !== dueAt)
    expect(Math.max(0, ...late.map(({ firedAt, dueAt }) => firedAt - dueAt))).toBeLessThan(11 * MINUTE)
    expect(late.length).toBeLessThan(run.messages.length / 100)
    expect(Math.min(...run.messages.map(({ firedAt, dueAt }) => firedAt - dueAt))).toBe(0)

    // The planned faults did happen.
    expect(run.thrown).toBeGreaterThan(USERS / 10)
    expect(run.replaced).toBeGreaterThan(25)
    expect(run.bounced.size).toBeGreaterThan(0)
    expect(run.redriven).toBe(run.bounced.size)
    // The recurring timers of dead messages went on: none of them was replaced.
    expect([...run.beside.keys()].toSorted()).toEqual([...run.bounced].toSorted())

    // The history says of each message when it was set, due and sent, how many attempts it took, and what failed.
    const histories = await run.history()
    const standing = await run.standing()
    const messages = grouped(run.messages, ({ user, firedAt }) => `${user} ${firedAt}`)
    let failed = 0
    for (const user of run.users.values()) {
      const events = [
        ...histories.get(user.id)!,
        ...(histories.get(run.beside.get(user.id) ?? '') ?? []),
      ].toSorted((a, b) => a.at - b.at)
      expect(events[0]!.event).toBe('created')
      const attempts = events.filter(({ event }) => event === 'attempt')
      const good = attempts.filter(({ outcome }) => outcome === 'next' || outcome === 'done')
      expect(good).toHaveLength(YEARS.length)
      for (const { dueAt, attempt, at, durationMs } of good) {
        expect(messages.get(`${user.id} ${at - durationMs!}`)).toMatchObject([{ dueAt, attempt }])
        const before = attempts.filter((each) => each.dueAt === dueAt && each.outcome === 'retry')
        expect(before.map(({ attempt: number }) => number)).toEqual(
          Array.from({ length: attempt! - 1 }, (_, index) => index + 1),
        )
        for (const { reason } of before) expect(reason).toBe('the mail server said 451')
        failed += before.length
      }
      // The next year is set already.
      expect(local(standing.get(user.id)!, user.zone)).toBe(`${dateIn(2029, user)} 09:00:00`)
    }
    expect(failed).toBe(run.thrown)
    const { told } = await run.instances[0]!.why(birthday, 'u1')
    expect(told.length).toBeGreaterThanOrEqual(YEARS.length + 2)
    expect((await run.instances[0]!.dead()).items).toEqual([])
    const { pending, store } = await run.instances[0]!.stats()
    expect(pending).toBe(USERS)
    expect(store.created).toBe(pending + store.settled + store.cancelled + store.replaced + store.dead)
    for (const timers of run.instances) await run.during(timers.stop())
  }, 600_000)
})
