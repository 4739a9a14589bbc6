import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from 'carillon/testing'
import type { WebLedger } from './web-ledger.js'
import type { WebLine, WebRead, WebTask } from './web-line.js'
import { WebProcess } from './web-process.js'

const COUNT = 2
/** The script of all calls takes a second or two. On a busy machine, or with a lease to wait for, it takes longer. */
const MAX_EXERCISE_MS = 60_000

export interface WebPairParts {
  readonly task: Omit<WebTask, 'file' | 'name'>
  /** The folder of the ledgers on disk. */
  readonly folder: string
  readonly ledger: WebLedger
  readonly random: Random
  /** Reads keys in a process that is not a web process; undefined if none can answer. */
  readonly readElsewhere: (
    keys: readonly string[],
  ) => Promise<(WebRead & { readonly by: string }) | undefined>
}

/**
 * Two web processes on one store. Each changes timers of its own. What one has changed, another process reads: the
 * other web process, or a worker.
 */
export class WebPair {
  readonly #parts: WebPairParts
  readonly #processes: WebProcess[] = []

  constructor(parts: WebPairParts) {
    this.#parts = parts
  }

  async start(): Promise<void> {
    const { task, folder } = this.#parts
    for (let index = 0; index < COUNT; index++) {
      const given = { ...task, name: `w${index}`, seed: task.seed * 10 + index }
      this.#processes.push(new WebProcess(given, folder, (by, line) => this.#take(by, line)))
    }
    await Promise.all(this.#processes.map(({ ready }) => ready))
  }

  /** Makes every call once in each web process. Returns what went wrong. */
  async exercise(): Promise<readonly string[]> {
    const late = sleep(MAX_EXERCISE_MS, undefined, { ref: false })
    const all = await Promise.all(
      this.#processes.map((one) => Promise.race([one.ask({ do: 'exercise' }, 'exercised'), late])),
    )
    return all.flatMap((line, index) => {
      const name = `web process w${index}`
      if (line === undefined) return [`${name} did not finish its calls within ${MAX_EXERCISE_MS} ms`]
      return line.failed.map((text) => `${name}: ${text}`)
    })
  }

  /** Ends the changes. Resolves when every timer of theirs is cancelled or due soon. */
  async drain(): Promise<void> {
    await Promise.all(this.#processes.map((one) => one.ask({ do: 'drain' }, 'idle')))
  }

  /** Stops both. Returns what went wrong. */
  async stop(): Promise<readonly string[]> {
    const codes = await Promise.all(this.#processes.map((one) => one.stop()))
    return codes.flatMap((code, index) => (code === 0 ? [] : [`web process w${index} ended with ${code}`]))
  }

  get fallen(): readonly string[] {
    return this.#processes.filter(({ hasFallen }) => hasFallen).map(({ name }) => name)
  }

  async remove(): Promise<void> {
    await Promise.all(this.#processes.map((one) => one.remove()))
  }

  #take(by: string, line: WebLine): void {
    const { ledger, random } = this.#parts
    ledger.take(by, line)
    const other = this.#processes.find(({ name }) => name !== by)
    if (line.say === 'look') {
      if (random.chance(0.5)) other?.say({ do: 'look', keys: line.keys })
      else void this.#readElsewhere(line.keys)
    }
    if (line.say === 'look-count')
      other?.say({ do: 'count', namespace: line.namespace, count: line.count, turn: line.turn })
    if (line.say === 'counted' && line.turn !== undefined && line.how === 'list')
      other?.say({ do: 'counted', turn: line.turn })
  }

  async #readElsewhere(keys: readonly string[]): Promise<void> {
    const read = await this.#parts.readElsewhere(keys)
    if (read !== undefined) this.#parts.ledger.read(read.by, read)
  }
}
