// Runs seeds in child processes and collects the results. A seed without a result for a minute is a failure: its process
// is killed and replaced.
import { fork } from 'node:child_process'
import { clearInterval, setInterval } from 'node:timers'
import { fileURLToPath } from 'node:url'

const worker = fileURLToPath(new URL('sim-worker.mjs', import.meta.url))
const CHUNK = 8
const LOOK_MS = 5000
const MAX_SILENT_LOOKS = 12
// A run makes many short-lived objects. With more memory for them, a run takes about a tenth less CPU time.
const NODE_OPTIONS = ['--max-semi-space-size=64']

/**
 * Runs the seeds of `nextSeed()` until it returns undefined. `onResult` gets one result per seed, and may return false
 * to end early. `options` apply to every run. Resolves when all processes have ended.
 */
export async function runSeeds({ library, nextSeed, onResult, workers, options = {} }) {
  let isOver = false
  await Promise.all(Array.from({ length: workers }, () => runWorker()))

  async function runWorker() {
    while (!isOver) {
      const ending = await runProcess()
      if (ending === 'done') return
    }
  }

  function runProcess() {
    return new Promise((resolve) => {
      const child = fork(worker, [library, JSON.stringify(options)], {
        execArgv: NODE_OPTIONS,
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      })
      let pending = []
      let silentLooks = 0
      const end = (ending) => {
        clearInterval(watchdog)
        child.removeAllListeners()
        child.on('error', () => undefined)
        child.kill('SIGKILL')
        resolve(ending)
      }
      const report = (result) => {
        if (!isOver && onResult(result) === false) isOver = true
      }
      const lost = (why) => {
        for (const seed of pending.slice(0, 1))
          report({ seed, violations: [why], promise: 'face', counts: {} })
        end(pending.length === 0 ? 'done' : 'lost')
      }
      // It counts its own looks instead of time: while all processes are stopped (SIGSTOP), none of them is silent.
      const watchdog = setInterval(() => {
        if (++silentLooks > MAX_SILENT_LOOKS) lost('the run gave no result for a minute')
      }, LOOK_MS)
      const refill = () => {
        if (pending.length > 0) return true
        while (pending.length < CHUNK) {
          const seed = isOver ? undefined : nextSeed()
          if (seed === undefined) break
          pending.push(seed)
        }
        if (pending.length > 0) child.send(pending)
        return pending.length > 0
      }
      child.on('message', (message) => {
        silentLooks = 0
        if (message !== 'ready') {
          pending = pending.filter((seed) => seed !== message.seed)
          report(message)
        }
        if (isOver || !refill()) end('done')
      })
      child.on('exit', (code) => lost(`the process of the run exited with code ${code}`))
    })
  }
}
