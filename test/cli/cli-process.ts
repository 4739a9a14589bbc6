import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { until } from '../eventually.js'

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** A `carillon` in its own process, with its output so far. */
export class CliProcess implements AsyncDisposable {
  readonly child: ChildProcess
  out = ''
  err = ''
  readonly ended: Promise<number | null>

  constructor(
    args: readonly string[],
    options: { env?: Record<string, string>; cwd?: string; input?: string } = {},
  ) {
    const { env = {}, cwd, input } = options
    this.child = spawn(process.execPath, [main, ...args], {
      env: { PATH: process.env['PATH'] ?? '', ...env },
      ...(cwd !== undefined && { cwd }),
      stdio: 'pipe',
    })
    this.child.stdout!.on('data', (data) => (this.out += String(data)))
    this.child.stderr!.on('data', (data) => (this.err += String(data)))
    this.child.stdin!.end(input ?? '')
    this.ended = new Promise((resolve) => this.child.on('close', resolve))
  }

  /** Waits until the output matches, and returns the match. */
  async waitForOutput(what: RegExp, forMs = 60_000): Promise<string> {
    await until(`${what} in ${this.out}${this.err}`, () => what.test(this.out + this.err), forMs)
    return what.exec(this.out + this.err)![0]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill('SIGKILL')
    await this.ended
  }
}

/** Runs a command to its end. */
export async function runProcess(
  args: readonly string[],
  options?: { env?: Record<string, string>; cwd?: string; input?: string },
): Promise<{ code: number | null; out: string; err: string }> {
  await using running = new CliProcess(args, options)
  const code = await running.ended
  return { code, out: running.out, err: running.err }
}
