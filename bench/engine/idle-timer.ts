import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'

/** Runs in the child process: sleeps a millisecond in a loop from `begin` on, and reports at `end` how late it woke. */
const PROGRAM = `
  const late = []
  let last = Infinity
  const tick = () => {
    const now = performance.now()
    if (now > last) late.push(now - last - 1)
    last = now
    setTimeout(tick, 1)
  }
  tick()
  process.on('message', (order) => {
    if (order === 'begin') late.length = 0
    else process.send(late, () => process.exit())
  })
`

/**
 * A process that only wakes every millisecond, beside a measurement of lateness. Its own lateness is the machine's, and no
 * candidate can be better.
 */
export class IdleTimer {
  readonly #child: ChildProcess = spawn(process.execPath, ['-e', PROGRAM], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })

  /** Discards the values so far. */
  begin(): void {
    this.#child.send('begin')
  }

  async end(): Promise<{ readonly p99: number; readonly max: number }> {
    this.#child.send('end')
    const [late] = (await once(this.#child, 'message')) as [number[]]
    late.sort((a, b) => a - b)
    return { p99: late[Math.floor(late.length * 0.99)]!, max: late.at(-1)! }
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}
