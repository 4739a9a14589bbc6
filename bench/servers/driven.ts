import { fork } from 'node:child_process'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import type { CountedServer, ServerCounts, ServerKind } from './counted-server.js'
import type { DriverMessage, DriverTask } from './task.js'

const driver = fileURLToPath(new URL('driver.js', import.meta.url))

/** What to drive: a module, the Node binary that runs it, and its server. */
export interface Driven {
  readonly module: string
  readonly node: string
  readonly server: ServerKind
  /** In the topology: it sets and fires in one process. */
  readonly isOneProcess?: boolean
}

/** The result, with the server's counters. */
export interface Outcome {
  readonly end: Extract<DriverMessage, { say: 'end' }>
  readonly operations: number
  readonly serverCpuUs: number | undefined
  /** Whether Redis rewrote its append-only file meanwhile, on the same cores. */
  readonly wasRewriting: boolean
}

type Work = DriverTask extends infer Each
  ? Each extends DriverTask
    ? Omit<Each, 'module' | 'url'>
    : never
  : never

/** Starts a server, drives the module in its own process, and stops both. */
export async function driven({ module, node, server: start }: Driven, work: Work): Promise<Outcome> {
  const server = await start()
  try {
    return await drive(server, node, { ...work, module, url: server.url })
  } finally {
    await server.stop()
  }
}

async function drive(server: CountedServer, node: string, task: DriverTask): Promise<Outcome> {
  const child = fork(driver, [JSON.stringify(task)], {
    execPath: node,
    execArgv: ['--max-old-space-size=8000'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  try {
    return await new Promise((resolve, reject) => {
      let before: ServerCounts | undefined
      let outcome: Outcome | undefined
      const onMessage = async (message: DriverMessage): Promise<void> => {
        const counts = await server.counts()
        if (message.say === 'begin') before = counts
        else outcome = outcomeOf(message, before!, counts)
        child.send('heard')
      }
      child.on('message', (message) => void onMessage(message as DriverMessage).catch(reject))
      child.once('error', reject)
      child.once('exit', (code) => {
        if (code === 0 && outcome !== undefined) resolve(outcome)
        else reject(new Error(`the driver of ${task.module} exited with code ${code}, see above`))
      })
    })
  } finally {
    process.removeListener('exit', kill)
    kill()
  }
}

function outcomeOf(end: Outcome['end'], before: ServerCounts, after: ServerCounts): Outcome {
  const serverCpuUs =
    before.cpuMs === undefined || after.cpuMs === undefined ? undefined : (after.cpuMs - before.cpuMs) * 1000
  const wasRewriting =
    before.rewrites?.isUnderWay === true || before.rewrites?.begun !== after.rewrites?.begun
  return { end, operations: after.operations - before.operations, serverCpuUs, wasRewriting }
}
