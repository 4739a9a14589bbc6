import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * A `redis-server` for tests, with AOF and `noeviction`, in its own folder and on its own port. It ends with the process
 * that started it, even if that is killed.
 */
export class RedisProcess {
  readonly port: number
  readonly folder: string
  readonly #arguments: readonly string[]
  #server: ChildProcess | undefined
  #reaper: ChildProcess | undefined

  private constructor(port: number, settings: readonly string[]) {
    this.port = port
    this.folder = mkdtempSync(path.join(tmpdir(), 'carillon-redis-'))
    this.#arguments = [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      this.folder,
      '--save',
      '',
      '--appendonly',
      'yes',
      '--appendfsync',
      'everysec',
      '--maxmemory-policy',
      'noeviction',
      '--daemonize',
      'no',
      '--protected-mode',
      'no',
      ...settings,
    ]
  }

  static async start(port: number, settings: readonly string[] = []): Promise<RedisProcess> {
    const redis = new RedisProcess(port, settings)
    await redis.resume()
    return redis
  }

  get pid(): number {
    return this.#server!.pid!
  }

  /** Starts the server with the data in its folder. */
  async resume(): Promise<void> {
    this.#server = spawn(installed('redis-server'), this.#arguments, { stdio: 'ignore' })
    // The reaper's standard input ends with this process, even after SIGKILL. Then it kills the server.
    const script = 'cat >/dev/null; kill -CONT "$0" 2>/dev/null; kill -9 "$0" 2>/dev/null; rm -rf "$1"'
    this.#reaper = spawn('sh', ['-c', script, String(this.pid), this.folder], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    })
    this.#reaper.unref()
    this.#server.unref()
    await this.#untilAnswering()
  }

  /** Ends the server. Its folder stays until `stop`. */
  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const server = this.#server
    // The reaper would remove the folder.
    this.#reaper?.kill('SIGKILL')
    this.#reaper = undefined
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return
    const gone = once(server, 'exit')
    server.ref()
    process.kill(this.pid, signal)
    await gone
  }

  async stop(): Promise<void> {
    if (this.#server?.exitCode === null) this.#server.kill('SIGCONT')
    await this.end()
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** How much disk space its files take. */
  diskBytes(): number {
    return readdirSync(this.folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).blocks * 512, 0)
  }

  /** Runs `redis-cli` and returns its output. */
  cli(...args: readonly string[]): string {
    return execFileSync(installed('redis-cli'), ['-p', String(this.port), ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  }

  async #untilAnswering(): Promise<void> {
    for (let tries = 0; tries < 400; tries++) {
      if (this.#server!.exitCode !== null) break
      try {
        if (/PONG|NOAUTH|DENIED/.test(this.cli('ping'))) return
      } catch {
        // It does not answer yet.
      }
      await sleep(25)
    }
    throw new Error(`redis-server ${this.#arguments.join(' ')} did not answer`)
  }
}

const known = new Map<string, string>()

/** The path of a Redis program. As root on Debian, installs it if it is missing. */
function installed(program: 'redis-server' | 'redis-cli'): string {
  const found = known.get(program) ?? where(program)
  if (found !== undefined) {
    known.set(program, found)
    return found
  }
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    // The installation must not start a Redis service.
    const env = { ...process.env, RUNLEVEL: '1', DEBIAN_FRONTEND: 'noninteractive' }
    const install = ['apt-get', '-o', 'DPkg::Lock::Timeout=300', 'install', '-y', '--no-install-recommends']
    execFileSync(install[0]!, [...install.slice(1), 'redis-server'], { stdio: 'ignore', env })
    const now = where(program)
    if (now !== undefined) return now
  }
  throw new Error(
    `${program} is not installed: install Redis 7 (Debian: apt-get install redis-server) or set CARILLON_TEST_REDIS_URL`,
  )
}

function where(program: string): string | undefined {
  try {
    return execFileSync('sh', ['-c', 'command -v "$0"', program], { encoding: 'utf8' }).trim() || undefined
  } catch {
    return undefined
  }
}
