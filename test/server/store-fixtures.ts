import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createClient } from 'redis'
import pg from 'pg'
import { expect } from 'vitest'
import { MemoryStore, openStore, PostgresStore, RedisStore, type Store } from '../../src/store/index.js'
import { open } from '../../src/store/file/lmdb/lmdb.js'
import { parseChunkKey } from '../../src/store/file/rows/chunk-key.js'
import { eventually } from '../eventually.js'
import { type PostgresServer, startPostgres } from '../servers/postgres.js'
import { type RedisServer, startRedis } from '../servers/redis.js'
import type { TestServer } from './test-server.js'

/** A location for a store, for tests that run on every kind of store. */
export interface StoreFixture {
  readonly name: string
  /** The URL for `openStore`. */
  readonly url: string
  start(): Promise<void>
  /** Opens the store. The first call creates it. */
  open(): Promise<Store>
  /** Deletes one row behind the store's back. */
  removeRow(): Promise<void>
  /** Whether the store must be closed for `removeRow`. */
  readonly isExclusive: boolean
  stop(): Promise<void>
}

export class MemoryFixture implements StoreFixture {
  readonly name = 'memory'
  readonly url = 'memory:'
  readonly isExclusive = true

  start(): Promise<void> {
    return Promise.resolve()
  }

  open(): Promise<Store> {
    return Promise.resolve(new MemoryStore())
  }

  removeRow(): Promise<void> {
    return Promise.reject(new Error('a memory store has no rows outside its process'))
  }

  stop(): Promise<void> {
    return Promise.resolve()
  }
}

export class FileFixture implements StoreFixture {
  readonly name = 'file'
  readonly isExclusive = true
  #folder = ''

  start(): Promise<void> {
    this.#folder = mkdtempSync(path.join(tmpdir(), 'carillon-server-'))
    return Promise.resolve()
  }

  get url(): string {
    return `file:${path.join(this.#folder, 'data')}`
  }

  async open(): Promise<Store> {
    return await openStore(this.url)
  }

  async removeRow(): Promise<void> {
    const options = { keyEncoding: 'binary', encoding: 'binary' } as const
    const root = open({
      path: path.join(this.#folder, 'data'),
      noSubdir: false,
      maxDbs: 12,
      overlappingSync: false,
      pageSize: 8192,
      eventTurnBatching: false,
      ...options,
    })
    const chunks = root.openDB({ name: 'chunks', ...options })
    const keys = [...chunks.getKeys()].map((key) => Buffer.from(key))
    // The latest one: an earlier chunk may hold a row that was replaced or cancelled since.
    const [single] = keys
      .filter((key) => parseChunkKey(key)?.rows === 1)
      .toSorted((a, b) => parseChunkKey(b)!.id - parseChunkKey(a)!.id)
    if (single === undefined) throw new Error('no chunk has just one row')
    await chunks.remove(single)
    await root.flushed
    await root.close()
  }

  stop(): Promise<void> {
    rmSync(this.#folder, { recursive: true, force: true })
    return Promise.resolve()
  }
}

export class PostgresFixture implements StoreFixture {
  readonly name = 'postgres'
  readonly isExclusive = false
  readonly #schema = `server_${process.pid}_${Date.now().toString(36)}`
  #server: PostgresServer | undefined

  async start(): Promise<void> {
    this.#server = await startPostgres()
  }

  get url(): `postgres://${string}` {
    return `${this.#server!.url}?schema=${this.#schema}`
  }

  async open(): Promise<Store> {
    return await PostgresStore.open(this.url, { shardCount: 4 })
  }

  async removeRow(): Promise<void> {
    await this.sql(`delete from "${this.#schema}".timer where ctid =
      (select ctid from "${this.#schema}".timer where key like 'k%' limit 1)`)
  }

  async sql(text: string): Promise<void> {
    const client = new pg.Client({ connectionString: this.#server!.url })
    await client.connect()
    try {
      await client.query(text)
    } finally {
      await client.end()
    }
  }

  async stop(): Promise<void> {
    await this.#server?.stop()
  }
}

export class RedisFixture implements StoreFixture {
  readonly name = 'redis'
  readonly isExclusive = false
  readonly #prefix = `server-${process.pid}-${Date.now().toString(36)}`
  #server: RedisServer | undefined

  async start(): Promise<void> {
    this.#server = await startRedis()
  }

  get url(): string {
    return `${this.#server!.url}?prefix=${this.#prefix}`
  }

  async open(): Promise<Store> {
    return await RedisStore.open(this.url, { shardCount: 4 })
  }

  async removeRow(): Promise<void> {
    const client = createClient({ url: this.#server!.url })
    await client.connect()
    try {
      const parts = await client.keys(`{${this.#prefix}:*}:p:*`)
      const [part] = parts
      if (part === undefined) throw new Error('there is no part')
      const [field] = await client.hKeys(part)
      await client.hDel(part, field!)
    } finally {
      client.destroy()
    }
  }

  async stop(): Promise<void> {
    await this.#server?.stop()
  }
}

/** Waits until a server owns every shard, so that it does not forward requests. */
export async function ownsAll(served: TestServer): Promise<void> {
  await eventually(async () => {
    const { self } = (await served.call('GET', '/v1/members')).body
    const { shards } = (await served.call('GET', '/v1/shards')).body
    for (const { owner } of shards) expect(owner).toBe(self)
  }, 30_000)
}
