import { type ChildProcess, spawn } from 'node:child_process'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { processorSeconds } from '../instances/processor-time.js'
import type { PoolFiring, PoolLine, PoolTask } from './pool-line.js'

const program = fileURLToPath(new URL('worker.js', import.meta.url))

/** A worker process (worker.ts), as its parent sees it. */
export class PoolWorker {
  readonly kinds: readonly string[]
  readonly name: string
  /** While it was up: from the end of its start until it was asked to stop. */
  upFrom = Infinity
  upUntil = Infinity
  processorSeconds = 0
  readonly events = new Map<string, number>()
  readonly #process: ChildProcess
  readonly #ended: Promise<void>
  readonly #awaited = new Map<PoolLine['say'], (line: PoolLine) => void>()
  readonly #onExit = (): void => void this.#process.kill('SIGKILL')

  constructor(task: PoolTask, onFired: (firings: readonly PoolFiring[], worker: PoolWorker) => void) {
    this.kinds = task.kinds
    this.name = task.name
    this.#process = spawn(process.execPath, [program, JSON.stringify(task)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    process.once('exit', this.#onExit)
    this.#process.stdin!.on('error', () => undefined)
    const lines = createInterface({ input: this.#process.stdout! })
    const exited = new Promise<void>((resolve) => this.#process.once('exit', () => resolve()))
    const read = new Promise<void>((resolve) => lines.once('close', resolve))
    this.#ended = Promise.all([exited, read]).then(() => undefined)
    lines.on('line', (text) => {
      const line = JSON.parse(text) as PoolLine
      if (line.say === 'fired') onFired(line.firings, this)
      if (line.say === 'event') this.events.set(line.type, (this.events.get(line.type) ?? 0) + 1)
      this.#awaited.get(line.say)?.(line)
    })
  }

  /** Opens and starts it. */
  async start(): Promise<void> {
    await this.#until('open')
    this.#process.stdin!.write('start\n')
    const { at } = await this.#until('up')
    this.upFrom = at
  }

  async unhandled(): Promise<Readonly<Record<string, number>>> {
    this.#process.stdin!.write('unhandled\n')
    return (await this.#until('unhandled')).waiting
  }

  /** Stops it cleanly. Rejects if it does not end that way. */
  async stop(): Promise<void> {
    this.upUntil = Date.now()
    this.processorSeconds = processorSeconds([this.#process.pid!])
    this.#process.stdin!.write('stop\n')
    await this.#ended
    process.removeListener('exit', this.#onExit)
    if (this.#process.exitCode !== 0)
      throw new Error(`worker ${this.name} ended with ${this.#process.exitCode ?? this.#process.signalCode}`)
  }

  async remove(): Promise<void> {
    process.removeListener('exit', this.#onExit)
    this.#process.kill('SIGKILL')
    await this.#ended
  }

  async #until<Say extends PoolLine['say']>(say: Say): Promise<Extract<PoolLine, { say: Say }>> {
    const said = new Promise<PoolLine>((resolve) => this.#awaited.set(say, resolve))
    const line = await Promise.race([said, this.#ended])
    this.#awaited.delete(say)
    if (line === undefined) throw new Error(`worker ${this.name} ended before it was ${say}`)
    return line as Extract<PoolLine, { say: Say }>
  }
}
