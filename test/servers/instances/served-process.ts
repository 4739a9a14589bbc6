import { type ChildProcess, spawn } from 'node:child_process'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Pool } from 'undici'
import type { FakeClock } from '../fake-clock.js'
import { processorSeconds } from './processor-time.js'

// From .carillon/run/test/servers/instances, where this is compiled to.
const program = fileURLToPath(new URL('../../../../../dist/cli/main.js', import.meta.url))
const WARNING = 40
const MAX_STOP_MS = 45_000
/** Longer than an instance waits for the owner of a shard. */
const MAX_ANSWER_MS = 15_000

/** A shard came to an instance or left it, by its own log. */
export interface ShardEvent {
  readonly type: 'acquired' | 'released' | 'lost'
  readonly shard: number
  /** Epoch milliseconds. */
  readonly time: number
}

export interface ServedProcessParts {
  readonly index: number
  readonly port: number
  readonly storeUrl: string
  /** The port that webhooks may call. */
  readonly receiverPort: number
  /** Its wall clock, where that can be moved. */
  readonly clock?: FakeClock | undefined
  readonly onShard: (by: string, event: ShardEvent) => void
  readonly onWarning: (by: string, what: string) => void
}

/** One `carillon serve` over all its lives, always on the same port, and a caller's connections to it. */
export class ServedProcess {
  readonly index: number
  readonly shards = new Set<number>()
  /** Attempts of this life that got no answer, by its log, and shards that it lost without letting go of them. */
  unanswered = 0
  lostShards = 0
  /** Lives that were stopped for a while: what they had begun before may come late. */
  readonly sleepers = new Set<string>()
  readonly #parts: ServedProcessParts
  #life = 0
  #process: ChildProcess | undefined
  #pool: Pool | undefined
  #ended: Promise<void> = Promise.resolve()
  #isEnded = false
  #said = ''
  #endedSeconds = 0
  readonly #onExit = (): void => void this.#process?.kill('SIGKILL')

  constructor(parts: ServedProcessParts) {
    this.#parts = parts
    this.index = parts.index
    process.once('exit', this.#onExit)
  }

  /** Names this life. */
  get name(): string {
    return `${this.index}.${this.#life}`
  }

  get pid(): number {
    return this.#process?.pid ?? 0
  }

  get clock(): FakeClock | undefined {
    return this.#parts.clock
  }

  /** Whether it ended although nobody had asked it to. */
  get hasFallen(): boolean {
    const { exitCode, signalCode } = this.#process!
    return !this.#isEnded && (exitCode !== null || signalCode !== null)
  }

  /** Processor time of all its lives. */
  get processorSeconds(): number {
    return this.#endedSeconds + (this.#isEnded ? 0 : processorSeconds([this.pid]))
  }

  /** What it has printed to its standard output in this life. */
  get said(): string {
    return this.#said
  }

  /** A new life; ends when it answers. */
  async begin(): Promise<void> {
    const { port, storeUrl, receiverPort } = this.#parts
    this.#life++
    this.#isEnded = false
    this.#said = ''
    this.unanswered = 0
    this.lostShards = 0
    const flags = { store: storeUrl, port, rate: 0, 'log-format': 'json' }
    const webhooks = { 'webhook-http': true, 'webhook-ports': receiverPort, 'webhook-hosts': '127.0.0.1' }
    const args = Object.entries({ ...flags, ...webhooks }).flatMap(([name, value]) => [
      `--${name}`,
      String(value),
    ])
    const started = spawn(process.execPath, [program, 'serve', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...this.#parts.clock?.env },
    })
    this.#process = started
    this.#pool = new Pool(`http://127.0.0.1:${port}`, { connections: 64, pipelining: 1 })
    const { name } = this
    started.stdout.on('data', (text: Buffer) => (this.#said += text.toString()))
    const log = createInterface({ input: started.stderr })
    log.on('line', (line) => this.#hear(name, line))
    const exited = new Promise<void>((resolve) => started.once('exit', () => resolve()))
    const read = new Promise<void>((resolve) => log.once('close', resolve))
    this.#ended = Promise.all([exited, read]).then(() => this.shards.clear())
    const isListening = new Promise<void>((resolve) => {
      const look = (): void => {
        if (this.#said.includes(' listens on ')) resolve()
      }
      started.stdout.on('data', look)
    })
    await Promise.race([
      isListening,
      exited.then(() => Promise.reject(new Error(`instance ${name} ended before it listened`))),
    ])
  }

  /** Asks it over HTTP. Rejects when there is no whole answer. */
  async ask(
    method: 'GET' | 'PUT' | 'POST' | 'DELETE',
    path: string,
    token: string,
    body?: unknown,
    patienceMs = MAX_ANSWER_MS,
  ): Promise<{ readonly status: number; readonly text: string }> {
    const answer = await this.#pool!.request({
      method,
      path,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(patienceMs),
    })
    return { status: answer.statusCode, text: await answer.body.text() }
  }

  /** kill -9. Answers when that was. */
  async kill(): Promise<number> {
    this.#noteEnd()
    const at = Date.now()
    this.#process!.kill('SIGKILL')
    await this.#over()
    return at
  }

  /** It does nothing until `wake`. Answers when that was. */
  sleep(): number {
    this.sleepers.add(this.name)
    this.#process!.kill('SIGSTOP')
    return Date.now()
  }

  wake(): void {
    this.#process!.kill('SIGCONT')
  }

  /** SIGTERM, as an operator would; answers its exit code. */
  async stop(): Promise<number | null> {
    this.#noteEnd()
    this.#process!.kill('SIGTERM')
    const late = setTimeout(() => this.#process!.kill('SIGKILL'), MAX_STOP_MS)
    await this.#over()
    clearTimeout(late)
    return this.#process!.exitCode
  }

  /** Ends it, whatever state it is in. */
  async remove(): Promise<void> {
    this.#isEnded = true
    this.#parts.clock?.remove()
    process.removeListener('exit', this.#onExit)
    if (this.#process === undefined) return
    this.#process.kill('SIGKILL')
    await this.#over()
  }

  #noteEnd(): void {
    this.#endedSeconds = this.processorSeconds
    this.#isEnded = true
  }

  async #over(): Promise<void> {
    await this.#ended
    await this.#pool!.destroy()
  }

  #hear(name: string, line: string): void {
    const event = parsed(line)
    if (event === undefined) return
    const { type, shard, time, level, error } = event
    if ((type === 'acquired' || type === 'released' || type === 'lost') && shard !== undefined) {
      if (type === 'acquired') this.shards.add(shard)
      else this.shards.delete(shard)
      if (type === 'lost') this.lostShards++
      this.#parts.onShard(name, { type, shard, time })
    } else if (level >= WARNING) {
      if (type === 'failed' && error?.includes(' answered ') !== true) this.unanswered++
      this.#parts.onWarning(name, type ?? 'problem')
    }
  }
}

/** A line of the log, as far as it is looked at. */
interface LogLine {
  readonly level: number
  readonly time: number
  readonly type?: string
  readonly shard?: number
  readonly error?: string
}

function parsed(line: string): LogLine | undefined {
  try {
    return JSON.parse(line) as LogLine
  } catch {
    // Cut off by the kill, or not a line of the log.
    return undefined
  }
}
