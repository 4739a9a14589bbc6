import { CarillonError, PartialError, timer, type Timers } from 'carillon'
import { machineMs } from '../chaos/report.js'
import {
  COUNTED_KIND,
  WEB_KIND,
  type WebCount,
  type WebLine,
  type WebOp,
  type WebPayload,
  type WebRead,
  type WebRow,
} from './web-line.js'

export const web = timer<WebPayload>(WEB_KIND, { retry: { attempts: 1000, backoff: '5ms..50ms' } })
export const counted = timer(COUNTED_KIND)

/** Calls `timers`, and writes a line before and after each call. No call throws: an error is an answer. */
export class Caller {
  readonly #timers: Timers
  readonly #tell: (line: WebLine) => void
  readonly #longestMs: number
  #calls = 0

  constructor(timers: Timers, tell: (line: WebLine) => void, longestMs: number) {
    this.#timers = timers
    this.#tell = tell
    this.#longestMs = longestMs
  }

  /** Sets timers. Returns one answer for each row. */
  async set(
    op: WebOp,
    rows: readonly WebRow[],
    condition: { readonly ifAbsent?: true; readonly ifRevision?: number } = {},
  ): Promise<readonly string[]> {
    const sets = rows.map(({ key, version, dueAt }) => ({
      key,
      at: dueAt,
      payload: this.#payload(version),
      ...condition,
    }))
    return await this.#change(op, rows, async () => {
      const [first] = sets
      if (sets.length === 1) return [(await this.#timers.set(web, first!.key, first!)).outcome]
      return (await this.#timers.setMany(web, sets)).map(({ outcome }) => outcome)
    })
  }

  async move(row: WebRow): Promise<string> {
    const answers = await this.#change('move', [row], async () => [
      await this.#timers.move(web, row.key, { at: row.dueAt }),
    ])
    return answers[0]!
  }

  async cancel(row: WebRow): Promise<string> {
    const answers = await this.#change('cancel', [row], async () => [await this.#timers.cancel(web, row.key)])
    return answers[0]!
  }

  /** Cancels all timers whose keys begin with `keyPrefix`: these rows, and no others. */
  async cancelMany(keyPrefix: string, rows: readonly WebRow[]): Promise<string> {
    let many: { found: number; cancelled: number } | undefined
    const answers = await this.#change(
      'cancel-many',
      rows,
      async () => {
        const { found, cancelled = 0 } = await this.#timers.cancelMany({ kind: web, keyPrefix })
        many = { found, cancelled }
        return rows.map(() => 'many')
      },
      () => many,
    )
    return answers[0]!
  }

  /** Reads keys one by one. Returns the revision of the last one. */
  async get(keys: readonly string[]): Promise<number | undefined> {
    let revision: number | undefined
    await this.#read('get', keys, async () => {
      const seen: WebRow[] = []
      for (const key of keys) {
        const found = await this.#timers.get(web, key)
        revision = found?.revision
        if (found !== undefined && found.state !== 'settled')
          seen.push({ key, version: found.payload.v, dueAt: found.dueAt })
      }
      return seen
    })
    return revision
  }

  async list(keyPrefix: string, keys: readonly string[]): Promise<void> {
    await this.#read('list', keys, async () => {
      const seen: WebRow[] = []
      let cursor: string | undefined
      // A page may be short: a list has a budget of time.
      do {
        const query = { kind: web, keyPrefix, limit: 1000, ...(cursor !== undefined && { cursor }) }
        const page = await this.#timers.list(query)
        for (const { key, payload, dueAt } of page.items)
          seen.push({ key, version: (payload as WebPayload).v, dueAt })
        cursor = page.cursor
      } while (cursor !== undefined)
      return seen
    })
  }

  /** Counts, and writes what was seen. Returns it, or undefined after an error. */
  async count(
    limits: Pick<WebCount, 'how' | 'namespace' | 'least' | 'most' | 'turn'>,
    call: () => Promise<number>,
  ): Promise<number | undefined> {
    const from = machineMs()
    try {
      const seen = await call()
      this.#tell({ say: 'counted', ...limits, seen, from, at: machineMs() })
      return seen
    } catch (error) {
      const failed = this.codeOf(`count by ${limits.how}`, error)
      this.#tell({ say: 'counted', ...limits, seen: -1, from, at: machineMs(), failed })
      return undefined
    }
  }

  /** Notes sets of an audit: its keys have no history. */
  audited(sets: { readonly sent: number; readonly acked: number }): void {
    this.#tell({ say: 'audited', ...sets })
  }

  /** The code of an error of the library. Throws any other error. */
  codeOf(what: string, error: unknown): string {
    if (!(error instanceof CarillonError)) throw error
    this.#tell({ say: 'trouble', what, text: `${error.code}: ${error.message}`, at: machineMs() })
    return error.code
  }

  async #change(
    op: WebOp,
    rows: readonly WebRow[],
    change: () => Promise<readonly string[]>,
    many: () => { found: number; cancelled: number } | undefined = () => undefined,
  ): Promise<readonly string[]> {
    const call = ++this.#calls
    this.#tell({ say: 'asked', call, op, rows, at: machineMs() })
    let answers: readonly string[]
    try {
      answers = await change()
    } catch (error) {
      const code = this.codeOf(op, error)
      answers =
        error instanceof PartialError && op !== 'cancel-many'
          ? rowAnswers(error)
          : rows.map(() => `failed ${code}`)
    }
    const counts = many()
    this.#tell({ say: 'answered', call, answers, ...(counts && { many: counts }), at: machineMs() })
    return answers
  }

  async #read(
    how: WebRead['how'],
    keys: readonly string[],
    read: () => Promise<readonly WebRow[]>,
  ): Promise<void> {
    const from = machineMs()
    try {
      const seen = await read()
      this.#tell({ say: 'read', how, keys, seen, from, at: machineMs() })
    } catch (error) {
      const failed = this.codeOf(how, error)
      this.#tell({ say: 'read', how, keys, seen: [], from, at: machineMs(), failed })
    }
  }

  /** One timer in ten has a handler that takes long. */
  #payload(version: number): WebPayload {
    if (version % 10 > 0) return { v: version }
    return { v: version, waitMs: Math.round(((version % 100) / 100) * this.#longestMs) }
  }
}

function rowAnswers({ rows }: PartialError): readonly string[] {
  return rows.map(({ answer, error }) => {
    if (error === undefined) return (answer as { outcome?: string }).outcome ?? 'set'
    return `failed ${error instanceof CarillonError ? error.code : String(error)}`
  })
}
