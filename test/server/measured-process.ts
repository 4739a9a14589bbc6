import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { until } from '../eventually.js'

const preload = fileURLToPath(new URL('loop-delay.mjs', import.meta.url))
const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** The delay of an event loop in milliseconds, including the sampling interval of one millisecond. */
export interface LoopDelay {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}

/** A Node.js process whose event loop delay is measured. */
export class MeasuredProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  #out = ''

  private constructor(args: readonly string[]) {
    this.#child = spawn(process.execPath, ['--import', preload, ...args], {
      env: { PATH: process.env['PATH'] ?? '' },
      stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
    })
    this.#child.stdout!.on('data', (data) => (this.#out += String(data)))
  }

  /** A process that does nothing. */
  static idle(): MeasuredProcess {
    return new MeasuredProcess(['-e', 'setInterval(() => undefined, 60_000)'])
  }

  /** Starts a server on a free port. Returns its URL and first key, too. */
  static async server(
    ...flags: readonly string[]
  ): Promise<{ process: MeasuredProcess; url: string; token: string }> {
    const started = new MeasuredProcess([main, 'serve', '--store', 'memory:', '--port', '0', ...flags])
    await until('the server has started', () => /curl/.test(started.#out), 60_000)
    const url = /listens on (\S+)/.exec(started.#out)![1]!
    const token = /\bck_\S+/.exec(started.#out)![0]
    return { process: started, url, token }
  }

  /** Drops the samples so far. */
  async reset(): Promise<void> {
    await this.#ask('reset')
  }

  async delay(): Promise<LoopDelay> {
    return await this.#ask('read')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }

  async #ask(what: string): Promise<LoopDelay> {
    const answered = once(this.#child, 'message')
    this.#child.send(what)
    return ((await answered) as [LoopDelay])[0]
  }
}
