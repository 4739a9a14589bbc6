import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { until } from '../eventually.js'

const preload = fileURLToPath(new URL('loop-delay.mjs', import.meta.url))
const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** How late an event loop was, in milliseconds; the millisecond between two looks is part of it. */
export interface LoopDelay {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}

/** A Node.js of its own whose event loop is measured. */
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

  /** One that does nothing. */
  static idle(): MeasuredProcess {
    return new MeasuredProcess(['-e', 'setInterval(() => undefined, 60_000)'])
  }

  /** A server on a free port; answers where it is and its first key, too. */
  static async server(
    ...flags: readonly string[]
  ): Promise<{ process: MeasuredProcess; url: string; token: string }> {
    const started = new MeasuredProcess([main, 'serve', '--store', 'memory:', '--port', '0', ...flags])
    await until('the server greets', () => /curl/.test(started.#out), 60_000)
    const url = /listens on (\S+)/.exec(started.#out)![1]!
    const token = /\bck_\S+/.exec(started.#out)![0]
    return { process: started, url, token }
  }

  /** Forgets what was measured so far. */
  async reset(): Promise<void> {
    await this.#ask('reset')
  }

  async delay(): Promise<LoopDelay> {
    return await this.#ask('tell')
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
