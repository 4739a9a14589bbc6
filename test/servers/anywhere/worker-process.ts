import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { until } from '../../eventually.js'

const program = fileURLToPath(
  new URL('../../../.carillon/run/test/servers/anywhere/worker.js', import.meta.url),
)

/** A worker in a process of its own (worker.ts). */
export class WorkerProcess {
  readonly lines: string[] = []
  readonly #child: ChildProcess

  constructor(store: string) {
    this.#child = spawn(process.execPath, [program, store], { stdio: ['pipe', 'pipe', 'inherit'] })
    createInterface({ input: this.#child.stdout! }).on('line', (line) => this.lines.push(line))
  }

  static async open(store: string): Promise<WorkerProcess> {
    const worker = new WorkerProcess(store)
    await until('the worker is open', () => worker.lines.includes('ready'))
    return worker
  }

  /** Sends a command, and waits until it is done. */
  async tell(command: string): Promise<void> {
    const before = this.lines.filter((line) => line.startsWith('done ')).length
    this.#child.stdin!.write(`${command}\n`)
    await until(
      `the worker did ${command}`,
      () => this.lines.filter((line) => line.startsWith('done ')).length > before,
    )
  }

  get fired(): readonly string[] {
    return this.lines.filter((line) => line.startsWith('fired '))
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}
