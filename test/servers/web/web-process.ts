import { type ChildProcess, spawn } from 'node:child_process'
import path from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { WebCommand, WebLine, WebTask } from './web-line.js'

const program = fileURLToPath(new URL('web.js', import.meta.url))

/** A web process (web.ts), as its parent sees it. */
export class WebProcess {
  readonly name: string
  /** Resolves when it is open. Rejects if it ends before that. */
  readonly ready: Promise<void>
  readonly #process: ChildProcess
  readonly #ended: Promise<void>
  readonly #awaited = new Map<WebLine['say'], (line: WebLine) => void>()
  #isEnded = false
  readonly #onExit = (): void => void this.#process.kill('SIGKILL')

  constructor(
    task: Omit<WebTask, 'file'>,
    folder: string,
    onLine: (by: string, line: WebLine, text: string) => void,
  ) {
    this.name = task.name
    const given: WebTask = { ...task, file: path.join(folder, `web-${task.name}.log`) }
    this.#process = spawn(process.execPath, [program, JSON.stringify(given)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    process.once('exit', this.#onExit)
    this.#process.stdin!.on('error', () => undefined)
    const lines = createInterface({ input: this.#process.stdout! })
    const exited = new Promise<void>((resolve) => this.#process.once('exit', () => resolve()))
    const read = new Promise<void>((resolve) => lines.once('close', resolve))
    this.#ended = Promise.all([exited, read]).then(() => undefined)
    this.ready = new Promise((resolve, reject) => {
      lines.on('line', (text) => {
        const line = JSON.parse(text) as WebLine
        if (line.say === 'ready') resolve()
        this.#awaited.get(line.say)?.(line)
        onLine(task.name, line, text)
      })
      void exited.then(() => reject(new Error(`web process ${task.name} ended before it was ready`)))
    })
    this.ready.catch(() => undefined)
  }

  /** Whether it ended although nobody ended it. */
  get hasFallen(): boolean {
    const { exitCode, signalCode } = this.#process
    return !this.#isEnded && (exitCode !== null || signalCode !== null)
  }

  say(command: WebCommand): void {
    this.#process.stdin!.write(`${JSON.stringify(command)}\n`)
  }

  /** Sends a command. Resolves with the line that ends it. Only one of a sort may be under way. */
  async ask<Say extends WebLine['say']>(
    command: WebCommand,
    say: Say,
  ): Promise<Extract<WebLine, { say: Say }>> {
    const answered = new Promise<WebLine>((resolve) => this.#awaited.set(say, resolve))
    this.say(command)
    const line = await Promise.race([answered, this.#ended])
    this.#awaited.delete(say)
    if (line === undefined) throw new Error(`web process ${this.name} ended before it was ${say}`)
    return line as Extract<WebLine, { say: Say }>
  }

  /** Stops it cleanly. Resolves with its exit code. */
  async stop(): Promise<number | null> {
    this.#isEnded = true
    this.say({ do: 'stop' })
    const late = setTimeout(() => this.#process.kill('SIGKILL'), 60_000)
    await this.#ended
    clearTimeout(late)
    return this.#process.exitCode
  }

  /** Ends the process in any state. */
  async remove(): Promise<void> {
    this.#isEnded = true
    process.removeListener('exit', this.#onExit)
    this.#process.kill('SIGKILL')
    await this.#ended
  }
}
