import { Random } from 'carillon/testing'

interface Sent {
  readonly method: string
  readonly path: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A request that was answered as no request may be. */
export interface Finding extends Sent {
  readonly status: number
  readonly answer: string
}

// Refusals because the caller asks too much, and a store that is busy for a moment, are right answers.
const allowed: ReadonlySet<number> = new Set([429, 503, 504, 507])

/**
 * Sends requests that nobody should send: broken cursors, receipts, handles, schedules, durations, lines, filters. It
 * begins with valid ones and damages them. Every answer must be one that the server meant to give: no 500, and an error
 * always with a code.
 */
export class Fuzzer {
  readonly findings: Finding[] = []
  readonly statuses = new Map<number, number>()
  sent = 0
  readonly #url: string
  readonly #token: string
  readonly #random: Random
  readonly #seeds: string[] = ['0', 'a', '1h', '2026-01-01T00:00:00Z', '* * * * *', 'FREQ=DAILY;COUNT=3']

  constructor(url: string, token: string, seed: number) {
    this.#url = url
    this.#token = token
    this.#random = new Random(seed)
  }

  /** Sends one request and checks its answer. Answers false if the server cannot be reached. */
  async step(): Promise<boolean> {
    const request = this.#request()
    try {
      const response = await fetch(this.#url + request.path, {
        method: request.method,
        headers: {
          authorization: `Bearer ${this.#token}`,
          ...(request.body !== undefined && { 'content-type': 'application/json' }),
          ...request.headers,
        },
        ...(request.body !== undefined && { body: request.body }),
        signal: AbortSignal.timeout(20_000),
      })
      const answer = await response.text()
      this.#check(request, response.status, answer)
      return true
    } catch (error) {
      this.findings.push({ ...request, status: 0, answer: String(error) })
      return false
    }
  }

  #check(request: Sent, status: number, answer: string): void {
    this.sent++
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    const isCoded = status < 400 || /"code":"[a-z-]+"/.test(answer)
    if ((status >= 500 && !allowed.has(status)) || !isCoded) {
      this.findings.push({ ...request, status, answer: answer.slice(0, 300) })
      return
    }
    // What the server gave is a good beginning for something broken.
    for (const [, seed] of answer.matchAll(/"(?:cursor|handle|receipt|id)":"([^"]{1,300})"/g)) {
      if (this.#seeds.length < 60) this.#seeds.push(seed!)
      else this.#seeds[this.#random.whole(6, 59)] = seed!
    }
  }

  #request(): Sent {
    const pick = this.#random.whole(0, 15)
    const word = (): string => encodeURIComponent(this.#text())
    switch (pick) {
      case 0:
        return this.#get(
          `/v1/timers?cursor=${encodeURIComponent(this.#cursor('list'))}&limit=${this.#number()}`,
        )
      case 1:
        return this.#get(`/v1/dead?cursor=${encodeURIComponent(this.#cursor('dead'))}`)
      case 2:
        return this.#get(`/v1/history?cursor=${encodeURIComponent(this.#cursor('history'))}`)
      case 3:
        return this.#get(`/v1/timers?keyPrefix=${word()}&tag=${word()}&dueFrom=${word()}&dueUntil=${word()}`)
      case 4:
        return this.#get(`/v1/forecast?over=${word()}&slice=${word()}&from=${word()}`)
      case 5:
        return this.#send('POST', '/v1/schedules/preview', { on: this.#schedule(), count: this.#number() })
      case 6:
        return this.#send('PUT', `/v1/timers/a/${word()}`, { in: this.#text(), payload: this.#value() })
      case 7:
        return this.#send('PUT', `/v1/timers/${word()}/b`, { on: this.#schedule() })
      case 8:
        return this.#send('POST', '/v1/leases/ack', { receipt: this.#text() })
      case 9:
        return this.#send('POST', '/v1/leases', { kinds: [this.#text()], max: this.#number() })
      case 10:
        return { method: 'DELETE', path: `/v1/handles/${word()}` }
      case 11:
        return { method: 'DELETE', path: `/v1/dead/${word()}` }
      case 12: {
        const lines = Array.from({ length: this.#random.whole(1, 5) }, () => this.#line())
        const headers = { 'content-type': 'application/x-ndjson' }
        return { method: 'POST', path: '/v1/batch', body: lines.join('\n'), headers }
      }
      case 13:
        return this.#send('POST', '/v1/batch', { operations: [this.#value(), this.#value()] })
      case 14:
        return this.#send('PUT', `/v1/targets/${word()}`, {
          type: 'webhook',
          url: this.#text(),
          timeout: this.#text(),
        })
      default:
        return {
          ...this.#get(`/v1/timers/${word()}/${word()}`),
          headers: { 'if-none-match': this.#header() },
        }
    }
  }

  #get(path: string): Sent {
    return { method: 'GET', path }
  }

  #send(method: string, path: string, body: unknown): Sent {
    const text = JSON.stringify(body)
    return { method, path, body: this.#random.whole(0, 9) === 0 ? this.#damaged(text) : text }
  }

  /** A cursor of the usual form with parts that no store wrote. */
  #cursor(query: string): string {
    if (this.#random.whole(0, 3) === 0) return this.#text() || 'x'
    const parts = Array.from({ length: this.#random.whole(0, 4) }, () => this.#value())
    const text = JSON.stringify([query, ...parts])
    return Buffer.from(this.#random.whole(0, 5) === 0 ? this.#damaged(text) : text).toString('base64url')
  }

  #line(): string {
    const set = { op: 'set', kind: 'a', key: this.#text(), in: this.#text(), payload: this.#value() }
    return this.#random.whole(0, 2) === 0 ? this.#damaged(JSON.stringify(set)) : JSON.stringify(set)
  }

  #schedule(): unknown {
    const fields = ['SECONDLY', 'MINUTELY', 'DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY']
    switch (this.#random.whole(0, 4)) {
      case 0:
        return { type: 'cron', expression: this.#damaged('*/5 0-3 L * MON#2'), zone: 'Europe/Paris' }
      case 1:
        return {
          type: 'rrule',
          rule: this.#damaged(`FREQ=${this.#of(fields)};INTERVAL=${this.#number()};BYDAY=SU`),
        }
      case 2:
        return { type: 'every', every: this.#text(), from: this.#number() }
      case 3:
        return this.#text()
      default:
        return this.#value()
    }
  }

  #value(depth = 0): unknown {
    switch (this.#random.whole(0, depth > 3 ? 5 : 8)) {
      case 0:
        return this.#number()
      case 1:
        return null
      case 2:
        return this.#random.whole(0, 1) === 0
      case 3:
      case 4:
      case 5:
        return this.#text()
      case 6:
        return Array.from({ length: this.#random.whole(0, 3) }, () => this.#value(depth + 1))
      default:
        return { [this.#text()]: this.#value(depth + 1), type: this.#text(), in: this.#text() }
    }
  }

  #number(): number {
    return this.#of([0, -1, 1, 0.5, 2 ** 31, 2 ** 53, 1e308, -1e308, 100, 10_000, 8.64e15, 1_800_000_000_000])
  }

  #text(): string {
    const strange = ['', '\u0000', '..', '%', "'", '"', '\\', '🔔'.repeat(200), 'x'.repeat(600), '__proto__']
    const picked = this.#of([...this.#seeds, ...strange])
    return this.#random.whole(0, 2) === 0 ? this.#damaged(picked) : picked
  }

  /** Header values are of fewer characters. */
  #header(): string {
    return this.#text().replace(/[^\x20-\x7e]/g, '') || '"1"'
  }

  /** A text with some characters removed, doubled or changed. */
  #damaged(text: string): string {
    let damaged = text
    for (let i = this.#random.whole(1, 3); i > 0; i--) {
      const at = this.#random.whole(0, damaged.length)
      const piece = this.#of([
        '',
        '',
        'x',
        '9',
        '-',
        '/',
        '"',
        '\u0000',
        damaged.slice(at, at + 5),
        '=',
        '\n',
      ])
      damaged = damaged.slice(0, at) + piece + damaged.slice(at + this.#random.whole(0, 2))
    }
    // Half of a character pair cannot be sent.
    return damaged.replace(/[\ud800-\udfff]/g, '')
  }

  #of<Item>(items: readonly Item[]): Item {
    return items[this.#random.whole(0, items.length - 1)]!
  }
}
