// Trials that expire: a warning three days before the end, the end itself, and both gone when the customer pays.
import assert from 'node:assert/strict'
import { timer, type TimersApi } from 'carillon'
import { testTimers } from 'carillon/testing'

const trialEnding = timer<{ account: string }>('trial-ending')
const trialEnded = timer<{ account: string }>('trial-ended')

class Trials {
  readonly log: string[] = []
  readonly #timers: TimersApi

  constructor(timers: TimersApi) {
    this.#timers = timers
    timers.handle(trialEnding, ({ payload }) => void this.log.push(`warned ${payload.account}`))
    timers.handle(trialEnded, ({ payload }) => void this.log.push(`locked ${payload.account}`))
  }

  async start(account: string): Promise<void> {
    await this.#timers.set(trialEnding, account, { in: '11d', payload: { account } })
    await this.#timers.set(trialEnded, account, { in: '14d', payload: { account } })
  }

  /** Gives a week more. 'moved' means that the trial had not ended. */
  async extend(account: string): Promise<boolean> {
    const end = await this.#timers.get(trialEnded, account)
    if (end === undefined || end.state === 'settled') return false
    return (await this.#timers.move(trialEnded, account, { at: end.dueAt + 7 * 86_400_000 })) === 'moved'
  }

  async pay(account: string): Promise<void> {
    await this.#timers.cancel(trialEnding, account)
    await this.#timers.cancel(trialEnded, account)
  }
}

// The test: two weeks pass in milliseconds.
await using timers = await testTimers()
const trials = new Trials(timers)
for (const account of ['ada', 'bob', 'cleo']) await trials.start(account)
await timers.advance('10d')
await trials.pay('ada')
assert.equal(await trials.extend('bob'), true)
await timers.advance('4d')
assert.deepEqual(trials.log, ['warned bob', 'warned cleo', 'locked cleo'])
await timers.advance('7d')
assert.equal(trials.log.at(-1), 'locked bob')
assert.equal(await trials.extend('bob'), false)
console.log(`${trials.log.length} messages: ${trials.log.join(', ')}`)
