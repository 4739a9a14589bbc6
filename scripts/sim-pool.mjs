// Runs seeds in child processes and collects the results. A seed without a result for a minute is a failure: its process
// is killed and replaced.
import { fork } from 'node:child_process'
import { clearTimeout, setTimeout } from 'node:timers'
import { fileURLToPath } from 'node:url'

const worker = fileURLToPath(new URL('sim-worker.mjs', import.meta.url))
const CHUNK = 8
const MAX_SILENCE_MS = 60_000
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
      let watchdog
      const end = (ending) => {
        clearTimeout(watchdog)
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
        end(pending.length === 0 && why !== 'silent' ? 'done' : 'lost')
      }
      const watch = () => {
        clearTimeout(watchdog)
        const since = performance.now()
        watchdog = setTimeout(() => {
          // All processes were stopped for a while (SIGSTOP), for example so that a benchmark runs alone.
          if (performance.now() - since > 1.5 * MAX_SILENCE_MS) watch()
          else lost('the run gave no result for a minute')
        }, MAX_SILENCE_MS)
      }
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
        watch()
        if (message !== 'ready') {
          pending = pending.filter((seed) => seed !== message.seed)
          report(message)
        }
        if (isOver || !refill()) end('done')
      })
      child.on('exit', (code) => lost(`the process of the run exited with code ${code}`))
      watch()
    })
  }
}
