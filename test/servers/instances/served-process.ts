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

/** An instance acquired, released or lost a shard, according to its log. */
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
  /** Its wall clock, if it can be moved. */
  readonly clock?: FakeClock | undefined
  readonly onShard: (by: string, event: ShardEvent) => void
  readonly onWarning: (by: string, what: string) => void
}

/**
 * One `carillon serve`, always on the same port, and a caller's connections to it. Its process is replaced by a new
 * one from time to time.
 */
export class ServedProcess {
  readonly index: number
  readonly shards = new Set<number>()
  /**
   * Attempts of this process that got no answer, according to its log, and shards that it lost without releasing
   * them.
   */
  unanswered = 0
  lostShards = 0
  /** The processes that were paused for a while. What they had started before may arrive late. */
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

  /** The name of the current process. */
  get name(): string {
    return `${this.index}.${this.#life}`
  }

  get pid(): number {
    return this.#process?.pid ?? 0
  }

  get clock(): FakeClock | undefined {
    return this.#parts.clock
  }

  /** Whether the process ended although the trial did not end it. */
  get hasFallen(): boolean {
    const { exitCode, signalCode } = this.#process!
    return !this.#isEnded && (exitCode !== null || signalCode !== null)
  }

  /** The processor time of all its processes. */
  get processorSeconds(): number {
    return this.#endedSeconds + (this.#isEnded ? 0 : processorSeconds([this.pid]))
  }

  /** The standard output of the current process. */
  get said(): string {
    return this.#said
  }

  /** Starts a new process. Resolves when it answers. */
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

  /** Sends a request. Rejects if there is no complete answer. */
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

  /** kill -9. Resolves with the time of the kill. */
  async kill(): Promise<number> {
    this.#noteEnd()
    const at = Date.now()
    this.#process!.kill('SIGKILL')
    await this.#over()
    return at
  }

  /** Pauses the process (SIGSTOP) until `wake`. Returns when that was. */
  sleep(): number {
    this.sleepers.add(this.name)
    this.#process!.kill('SIGSTOP')
    return Date.now()
  }

  wake(): void {
    this.#process!.kill('SIGCONT')
  }

  /** Sends SIGTERM, as an operator does. Resolves with the exit code. */
  async stop(): Promise<number | null> {
    this.#noteEnd()
    this.#process!.kill('SIGTERM')
    const late = setTimeout(() => this.#process!.kill('SIGKILL'), MAX_STOP_MS)
    await this.#over()
    clearTimeout(late)
    return this.#process!.exitCode
  }

  /** Ends the process in any state. */
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

/** The fields of a log line that are used here. */
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
    // The process was killed while it wrote the line, or this is not a line of the log.
    return undefined
  }
}
