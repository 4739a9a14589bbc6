// Ends a server and takes its folder away when whoever asked for it ends, in whatever way: a pipe from it is open
// as long as it lives. Arguments: the server's pid, the signal that ends it, the folder.
import { rmSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'

const [pid, signal, folder] = process.argv.slice(2)

process.stdin.resume()
process.stdin.on('end', () => void end()).on('error', () => void end())
for (const ignored of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(ignored, () => undefined)

async function end() {
  try {
    process.kill(Number(pid), signal)
    for (let i = 0; i < 500; i++) {
      process.kill(Number(pid), 0)
      await sleep(20)
    }
    process.kill(Number(pid), 'SIGKILL')
  } catch {
    // It is gone.
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  process.exit()
}
