import { setImmediate as atTurnEnd } from 'node:timers'
import { loadLmdb } from './load-lmdb.js'

/**
 * The part of the package `lmdb` that the store uses. The package's own declarations do not compile in an ES module,
 * so they are written down here. The store's tests check them.
 */
export interface Table {
  get(key: Buffer): Buffer | undefined
  getEntry(key: Buffer): { readonly value: Buffer; readonly version?: number } | undefined
  /** The next read overwrites the returned bytes. `length` is that of the value. */
  getBinaryFast(key: Buffer): Buffer | undefined
  getKeys(range?: TableRange): Iterable<Buffer>
  getRange(range?: TableRange): Iterable<{ readonly key: Buffer; readonly value: Buffer }>
  put(key: Buffer, value: Buffer, version?: number): Promise<boolean>
  remove(key: Buffer): Promise<boolean>
  putSync(key: Buffer, value: Buffer, version?: number): void
  removeSync(key: Buffer): boolean
  /** Carries out the puts and removes of `write` in one transaction, if the key has this version. */
  ifVersion(key: Buffer, version: number, write: () => void): Promise<boolean>
}

interface TableRange {
  readonly start?: Buffer
  readonly limit?: number
}

interface Opened extends Table {
  readonly flushed: PromiseLike<unknown>
  readonly env: NativeEnvironment
  readonly status: string
  openDB(options: TableOptions & { readonly name: string }): Table
  transactionSync<Answer>(run: () => Answer): Answer
  backup(path: string, compact: boolean): Promise<void>
  /** Keeps the pages of the current snapshot from being written again until `done`. */
  useReadTransaction(): { done(): void }
  close(): Promise<void>
}

/** The native binding below the package. */
interface NativeEnvironment {
  address: number
  /** Writes on its own thread. `report` is called with 1 and 2 on the way, and with 0 or an error at the end. */
  startWriting(address: number, report: (status: number) => unknown): void
  resumeWriting(): void
  close(): void
}

interface TableOptions {
  readonly keyEncoding: 'binary'
  readonly encoding: 'binary'
  readonly useVersions?: boolean
}

interface RootOptions extends TableOptions {
  readonly path: string
  readonly noSubdir: boolean
  readonly maxDbs: number
  readonly mapSize?: number
  readonly overlappingSync: boolean
  readonly pageSize: number
  readonly eventTurnBatching: boolean
}

interface Lmdb {
  readonly open: (options: RootOptions) => Opened
}

/** Opens a folder. The first call loads the package and its binary. */
export function open(options: RootOptions): Root {
  return new Root((loadLmdb() as Lmdb).open(options))
}

/**
 * An open LMDB environment. The binding never answers a write that it could not begin: the promise neither resolves
 * nor rejects, and the write's lock blocks everything after it, even closing. `watchWrite` notices this by the
 * binding's own report that the write has ended, so it needs no timeout.
 *
 * Proven by test/store/power/write-errors.test.ts.
 */
export class Root {
  readonly #opened: Opened
  #onWriteEnded: (status: number) => void = () => undefined
  #isStuck = false

  constructor(opened: Opened) {
    this.#opened = opened
    const { env } = opened
    const start = env.startWriting.bind(env)
    const startWriting: NativeEnvironment['startWriting'] = (address, report) =>
      start(address, (status) => {
        const answer = report(status)
        if (status !== 1 && status !== 2) this.#onWriteEnded(status)
        return answer
      })
    Object.defineProperty(env, 'startWriting', { value: startWriting })
  }

  get isOpen(): boolean {
    return this.#opened.status === 'open'
  }

  /** Whether a write was never answered. Then no transaction may begin any more. */
  get isStuck(): boolean {
    return this.#isStuck
  }

  get flushed(): PromiseLike<unknown> {
    return this.#opened.flushed
  }

  getKeys(): Iterable<Buffer> {
    return this.#opened.getKeys()
  }

  openDB(options: TableOptions & { readonly name: string }): Table {
    return this.#opened.openDB(options)
  }

  transactionSync<Answer>(run: () => Answer): Answer {
    return this.#opened.transactionSync(run)
  }

  backup(path: string, compact: boolean): Promise<void> {
    return this.#opened.backup(path, compact)
  }

  /** Keeps all pages that are in use now, until the returned function is called. The file may grow meanwhile. */
  keepPages(): () => void {
    const transaction = this.#opened.useReadTransaction()
    return () => transaction.done()
  }

  /** Waits for one write. Rejects if it ended without an answer. Only one write may run at a time. */
  async watchWrite<Answer>(write: () => Promise<Answer>): Promise<Answer> {
    const unanswered = new Promise<never>((_, reject) => {
      this.#onWriteEnded = (status) => {
        // If there is an answer, it is queued already and wins the race.
        if (status !== 0) atTurnEnd(() => reject(new UnansweredWriteError(status)))
      }
    })
    try {
      return await Promise.race([write(), unanswered])
    } catch (error) {
      this.#isStuck = error instanceof UnansweredWriteError
      throw error
    }
  }

  async close(): Promise<void> {
    const closed = this.#opened.close()
    if (!this.#isStuck) return await closed
    // `close` waits for the answer that never comes. The lock still belongs to that write, whose thread has ended.
    const { env } = this.#opened
    env.resumeWriting()
    env.address = 0
    env.close()
  }
}

class UnansweredWriteError extends Error {
  constructor(status: number) {
    super(`LMDB did not begin the write (${status})`)
  }
}
