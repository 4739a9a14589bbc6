import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import type { CountedServer } from '../counted-server.js'
import type { Driven } from '../driven.js'
import type { Command, ProcessTask, Reply, Role } from './task.js'

const script = fileURLToPath(new URL('process.js', import.meta.url))

type Figures = Readonly<Record<string, number>>

/** A process of the topology, as its parent sees it. */
class Child {
  readonly #process: ChildProcess
  readonly #kill: () => void

  private constructor(child: ChildProcess) {
    this.#process = child
    this.#kill = () => void child.kill('SIGKILL')
    process.once('exit', this.#kill)
  }

  static async start(node: string, task: ProcessTask): Promise<Child> {
    const child = new Child(
      fork(script, [JSON.stringify(task)], {
        execPath: node,
        execArgv: ['--max-old-space-size=8000'],
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      }),
    )
    await child.#reply()
    return child
  }

  async ask(command: Command): Promise<Figures> {
    this.#process.send(command)
    return await this.#reply()
  }

  async stop(): Promise<void> {
    await this.ask({ ask: 'stop' }).catch(() => undefined)
    process.removeListener('exit', this.#kill)
    this.#kill()
  }

  async #reply(): Promise<Figures> {
    const ending = new AbortController()
    const ended = once(this.#process, 'exit', { signal: ending.signal }).then(([code]) => {
      throw new Error(`a process of the topology exited with code ${String(code)}, see above`)
    })
    ended.catch(() => undefined)
    try {
      const [reply] = (await Promise.race([once(this.#process, 'message'), ended])) as [Reply]
      if ('error' in reply) throw new Error(reply.error)
      return reply.figures
    } finally {
      ending.abort()
    }
  }
}

/** A process that sets and one that fires; the same one when it does both. */
export interface Pair {
  readonly setter: Child
  readonly worker: Child
  readonly server: CountedServer
  /** Processor time until now in µs. */
  readonly cpu: () => Promise<{
    readonly setter: number
    readonly worker: number
    readonly server: number | undefined
  }>
}

/** Starts a server and the processes of a candidate on it, and stops them when `measure` has ended. */
export async function withPair<Result>(
  { module, node, server: start }: Driven,
  isOne: boolean,
  measure: (pair: Pair) => Promise<Result>,
): Promise<Result> {
  const server = await start()
  const children: Child[] = []
  const open = async (role: Role): Promise<Child> => {
    const child = await Child.start(node, { module, url: server.url, role })
    children.push(child)
    return child
  }
  try {
    const worker = await open(isOne ? 'both' : 'worker')
    const setter = isOne ? worker : await open('setter')
    await worker.ask({ ask: 'work' })
    return await measure({
      setter,
      worker,
      server,
      async cpu() {
        const { cpuMs } = await server.counts()
        const [ofSetter, ofWorker] = [await setter.ask({ ask: 'cpu' }), await worker.ask({ ask: 'cpu' })]
        return {
          setter: ofSetter['cpuUs']!,
          worker: isOne ? 0 : ofWorker['cpuUs']!,
          server: cpuMs === undefined ? undefined : cpuMs * 1000,
        }
      },
    })
  } finally {
    for (const child of children.toReversed()) await child.stop()
    await server.stop()
  }
}
