import type { SetOperation } from 'carillon/store'
import pg from 'pg'
import type { Measurement, Task } from '../harness/bench.js'
import { HORIZON_MS, Timers } from '../stores/timers.js'
import { CopyIn } from './copy-in.js'
import { startRunningPostgres } from './running-server.js'

const WARM_UP = 10_000
const PAGE = 10_000
const SINGLE = 500
const START = 1_767_225_600_000
const COLUMNS =
  'shard, position, revision, identity, created_at, due_at, attempt, occurrence, namespace, kind, key, tags, details, payload'

// The columns and indexes of the store's own table.
const TABLE = `
drop table if exists floor;
create table floor (shard integer not null, position bigint not null, revision bigint not null,
  identity bigint not null, created_at bigint not null, due_at bigint not null, attempt bigint not null,
  occurrence bigint not null, lease_nonce bigint, lease_until bigint, namespace text collate "C" not null,
  kind text collate "C" not null, key text collate "C" not null, tags text[] not null, details text not null,
  payload bytea not null, lease_owner text);
create unique index on floor (key, kind, namespace, shard);
create unique index on floor (shard, position, revision);`

const UNNEST = `insert into floor (${COLUMNS})
  select 0, position, revision, identity, created_at, due_at, 0, 0, namespace, kind, key, '{}', details, payload
  from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[],
    $9::text[], $10::bytea[])
  as t(position, revision, identity, created_at, due_at, namespace, kind, key, details, payload)`

type Way = 'unnest' | 'copy'

/** The least work for the server: rows are inserted, read in order, and deleted by range. */
export async function measureFloor(way: Way, { n, seed }: Task): Promise<Measurement> {
  const server = await startRunningPostgres()
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  try {
    await addAll(client, way, WARM_UP, seed, 1000)
    const metrics: Record<string, number> = {
      'add 1k': await addAll(client, way, n, seed, 1000),
      'set 1': await addAll(client, way, SINGLE, seed, 1),
      'add 10k': await addAll(client, way, n, seed, 10_000),
    }
    let bytes = 0
    let read = 0
    const from = performance.now()
    for (let position = 0, revision = 0; ;) {
      const { rows } = await client.query<{ position: string; revision: string; payload: Buffer }>(
        `select * from floor where shard = 0 and (position, revision) > ($1, $2)
        order by position, revision limit ${PAGE}`,
        [position, revision],
      )
      for (const row of rows) bytes += row.payload.length
      read += rows.length
      const last = rows.at(-1)
      if (last === undefined || rows.length < PAGE) break
      position = Number(last.position)
      revision = Number(last.revision)
    }
    metrics['load'] = ((performance.now() - from) * 1e3) / n
    if (read !== n || bytes !== n * 120)
      throw new Error(`read ${read} rows and ${bytes} bytes, expected ${n} rows of 120 bytes`)
    const deleting = performance.now()
    const { rowCount } = await client.query('delete from floor where shard = 0 and position < $1', [
      START + HORIZON_MS + 2,
    ])
    metrics['settle'] = ((performance.now() - deleting) * 1e3) / n
    if (rowCount !== n) throw new Error(`${rowCount} of ${n} rows were deleted`)
    return { metrics, checks: { n }, notes: [] }
  } finally {
    await client.end()
    await server.stop()
  }
}

async function addAll(client: pg.Client, way: Way, n: number, seed: number, batch: number): Promise<number> {
  await client.query(TABLE)
  const timers = new Timers(n, seed, START)
  let ms = 0
  for (let i = 0; i < n; i += batch) {
    const sets = Array.from({ length: Math.min(batch, n - i) }, (_, j) => timers.set(i + j))
    const from = performance.now()
    if (way === 'copy') await copied(client, sets)
    else await unnested(client, sets)
    ms += performance.now() - from
  }
  return (ms * 1e3) / n
}

async function unnested(client: pg.Client, sets: readonly SetOperation[]): Promise<void> {
  const list = (of: (set: SetOperation) => unknown): unknown[] => sets.map(of)
  await client.query(UNNEST, [
    list((set) => set.position),
    list((set) => set.identity),
    list((set) => set.identity),
    list((set) => set.createdAt),
    list((set) => set.dueAt),
    list((set) => set.namespace),
    list((set) => set.kind),
    list((set) => set.key),
    list((set) => set.details),
    list((set) => set.payload),
  ])
}

async function copied(client: pg.Client, sets: readonly SetOperation[]): Promise<void> {
  const copy = new CopyIn(`copy floor (${COLUMNS}) from stdin (format binary)`, sets)
  client.query(copy)
  await copy.done
}
