import { type ChildProcess, spawn } from 'node:child_process'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { FakeClock } from '../fake-clock.js'
import { TcpProxy } from '../tcp-proxy.js'
import type { Asked } from './command.js'
import { type Line, machineMs, parseLine } from './report.js'
import type { ChaosServer } from './server.js'
import type { Task } from './task.js'

const child = fileURLToPath(new URL('child.js', import.meta.url))

export interface InstanceParts {
  readonly index: number
  readonly server: ChaosServer
  readonly task: Omit<Task, 'name' | 'url'>
  /** Its wall clock, if it can be moved. */
  readonly clock?: FakeClock | undefined
  /** Called when a process has ended, with the latest moment at which that can have been. */
  readonly onGone: (by: string, at: number, wasKilled: boolean) => void
  /** Called with every line, and with the name of the process that wrote it. */
  readonly onLine: (by: string, line: Line, text: string) => void
}

/**
 * One instance. Its process is replaced by a new one from time to time. It has its own connection to the server,
 * which can be cut.
 */
export class Instance {
  readonly proxy: TcpProxy
  /** The shards that it owns, as it reported. */
  readonly shards = new Set<number>()
  readonly #parts: InstanceParts
  readonly #answers = new Map<number, (text: string) => void>()
  #asked = 0
  #life = 0
  #process: ChildProcess | undefined
  #ready: Promise<void> = Promise.resolve()
  #ended: Promise<void> = Promise.resolve()
  /** Whether the trial ended the process. Otherwise it ended by itself. */
  #isEnded = false
  #isReady = false
  readonly #onExit = (): void => void this.#process?.kill('SIGKILL')

  private constructor(parts: InstanceParts, proxy: TcpProxy) {
    this.#parts = parts
    this.proxy = proxy
    process.once('exit', this.#onExit)
  }

  static async start(parts: InstanceParts): Promise<Instance> {
    const instance = new Instance(parts, await TcpProxy.to(parts.server.port))
    instance.begin()
    return instance
  }

  get name(): string {
    return `${this.#parts.index}.${this.#life}`
  }

  /** Resolves when it has started. Rejects if it ends before that. */
  get ready(): Promise<void> {
    return this.#ready
  }

  /** Whether its process has started and was not ended by the trial. */
  get isReady(): boolean {
    return this.#isReady && !this.#isEnded
  }

  /** Starts a new process. */
  begin(): void {
    const { server, task, onLine, onGone, clock } = this.#parts
    this.#life++
    this.#isEnded = false
    this.#isReady = false
    const { name } = this
    const given: Task = {
      ...task,
      name,
      url: server.urlThrough(this.proxy.port),
      seed: task.seed * 1000 + this.#parts.index * 100 + this.#life,
    }
    const started = spawn(process.execPath, [child, JSON.stringify(given)], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, ...clock?.env },
    })
    this.#process = started
    started.stdin.on('error', () => undefined)
    const lines = createInterface({ input: started.stdout })
    const exited = new Promise<void>((resolve) => started.once('exit', () => resolve()))
    void exited.then(() => onGone(name, machineMs(), started.signalCode !== null))
    const read = new Promise<void>((resolve) => lines.once('close', resolve))
    this.#ended = Promise.all([exited, read]).then(() => this.shards.clear())
    this.#ready = new Promise((resolve, reject) => {
      lines.on('line', (text) => {
        const line = parseLine(text)
        if (line === undefined) return
        if (line.say === 'ready') {
          this.#isReady = true
          resolve()
        }
        if (line.say === 'answer') this.#answers.get(line.number)?.(line.text)
        if (line.say === 'acquired') this.shards.add(line.shard)
        if (line.say === 'let-go') this.shards.delete(line.shard)
        onLine(name, line, text)
      })
      void exited.then(() => reject(new Error(`instance ${name} ended before it was ready`)))
    })
    this.#ready.catch(() => undefined)
  }

  /** kill -9. Resolves with the time of the kill, once every line of the process was read. */
  async kill(): Promise<number> {
    this.#isEnded = true
    const at = machineMs()
    this.#process!.kill('SIGKILL')
    await this.#ended
    return at
  }

  /** Pauses the process (SIGSTOP) until `wake`. Returns when that was. */
  sleep(): number {
    const at = machineMs()
    this.#process!.kill('SIGSTOP')
    return at
  }

  wake(): void {
    this.#process!.kill('SIGCONT')
  }

  say(word: 'drain' | 'stop'): void {
    this.#process!.stdin!.write(`${word}\n`)
  }

  /** Sends a command. Resolves with the answer. Never resolves if the process ends first. */
  ask(asked: Asked): Promise<string> {
    const number = ++this.#asked
    return new Promise((resolve) => {
      this.#answers.set(number, (text) => {
        this.#answers.delete(number)
        resolve(text)
      })
      this.#process!.stdin!.write(`${JSON.stringify({ number, ...asked })}\n`)
    })
  }

  get clock(): FakeClock | undefined {
    return this.#parts.clock
  }

  /** Whether the process ended although the trial did not end it. */
  get hasFallen(): boolean {
    const { exitCode, signalCode } = this.#process!
    return !this.#isEnded && (exitCode !== null || signalCode !== null)
  }

  /** Stops it cleanly. Rejects if it does not end that way. */
  async leave(): Promise<void> {
    const { name } = this
    const code = await this.stop()
    if (code !== 0) throw new Error(`instance ${name} ended with ${code}`)
  }

  /** Stops it cleanly. Resolves with its exit code. */
  async stop(): Promise<number | null> {
    this.#isEnded = true
    this.say('stop')
    const late = setTimeout(() => this.#process!.kill('SIGKILL'), 60_000)
    await this.#ended
    clearTimeout(late)
    return this.#process!.exitCode
  }

  /** Ends the process in any state, and frees everything. */
  async remove(): Promise<void> {
    this.#isEnded = true
    process.removeListener('exit', this.#onExit)
    this.#process!.kill('SIGKILL')
    await this.#ended
    await this.proxy.stop()
    this.#parts.clock?.remove()
  }
}
