import type { Store } from 'carillon/store'
import { acquireShard } from './acquire-shard.js'
import type { Change, ReportLine, RowState } from './report.js'

const NAMESPACE = 'chaos'

interface ExpectedRow extends RowState {
  /** 0 if the child was killed before it could report it. */
  readonly revision: number
}

/**
 * What the store must contain, by what was acknowledged. A call in flight at the kill has happened or not, as a whole.
 * The store shows which, and all effects of the call must agree.
 */
export class Ledger {
  readonly #rows = new Map<string, ExpectedRow>()
  readonly #requests = new Set<string>()
  readonly #inFlightCalls = new Map<number, readonly Change[]>()
  #level = { position: 0, revision: 0 }
  #epoch = 0
  acknowledged = 0
  inFlight = 0
  /** How many of the calls in flight have happened. */
  happened = 0

  take(line: ReportLine): void {
    if (line.type === 'ready') this.#epoch = line.epoch
    if (line.type === 'begun') this.#inFlightCalls.set(line.call, line.changes)
    if (line.type !== 'acknowledged') return
    const changes = this.#inFlightCalls.get(line.call)
    if (changes === undefined) throw new Error(`call ${line.call} was acknowledged before it began`)
    this.#inFlightCalls.delete(line.call)
    this.#apply(changes, line.revisions)
    this.acknowledged++
  }

  /** Returns the faults of the store. Afterwards the ledger has what the store has. */
  async check(store: Store): Promise<string[]> {
    const faults: string[] = []
    const found = new Map<string, ExpectedRow>()
    const rows = await listAll(store)
    for (const row of rows) {
      const { identity, position, attempt, revision } = row
      const payload = Buffer.from(row.payload).toString('latin1')
      found.set(row.key, { identity, position, attempt, payload, revision })
    }
    const [shard] = await store.shards()
    const { requests, fence } = await readInbox(store)
    for (const [call, changes] of this.#inFlightCalls) {
      this.inFlight++
      const each = changes.map((change) => this.#hasHappened(change, found, requests, shard!))
      const known = each.filter((one) => one !== undefined)
      if (known.some((one) => one !== known[0])) {
        faults.push(`call ${call} is half there: ${JSON.stringify(changes.slice(0, 3))}`)
      }
      if (known[0] !== true) continue
      this.happened++
      this.#apply(
        changes,
        changes.map((change) => (change.to === 'live' ? (found.get(change.key)?.revision ?? 0) : 0)),
      )
    }
    this.#inFlightCalls.clear()
    for (const [key, expected] of this.#rows) {
      const row = found.get(key)
      if (row === undefined) faults.push(`${key} is lost: ${JSON.stringify(expected)}`)
      else if (!isSame(row, expected))
        faults.push(`${key} is ${JSON.stringify(row)}, not ${JSON.stringify(expected)}`)
    }
    for (const [key, row] of found) {
      if (!this.#rows.has(key)) faults.push(`${key} came back: ${JSON.stringify(row)}`)
    }
    for (const request of this.#requests) if (!requests.has(request)) faults.push(`${request} is lost`)
    for (const request of requests) if (!this.#requests.has(request)) faults.push(`${request} came back`)
    const { settledLevel, epoch } = shard!
    if (epoch < this.#epoch) faults.push(`the epoch went back from ${this.#epoch} to ${epoch}`)
    if (settledLevel.position < this.#level.position) {
      faults.push(`the settled level went back from ${this.#level.position} to ${settledLevel.position}`)
    }
    faults.push(...(await checkCounts(store, rows)))
    const keys = [...found.keys()].slice(0, 500)
    const byName = await store.find(keys.map((key) => ({ namespace: NAMESPACE, kind: 'timer', key })))
    for (const [index, row] of byName.entries()) {
      if (row?.identity !== found.get(keys[index]!)?.identity)
        faults.push(`${keys[index]} is not found by name`)
    }
    await store.release(fence)
    for (const [key, row] of found) this.#rows.set(key, row)
    return faults
  }

  /** Whether the store shows that a change happened; undefined if the store looks the same either way. */
  #hasHappened(
    change: Change,
    found: ReadonlyMap<string, ExpectedRow>,
    requests: ReadonlySet<string>,
    shard: { readonly settledLevel: { readonly position: number }; readonly epoch: number },
  ): boolean | undefined {
    switch (change.to) {
      case 'live': {
        const row = found.get(change.key)
        const isThere = row !== undefined && isSame(row, { ...change.row, revision: 0 })
        return isThere && row.revision !== this.#rows.get(change.key)?.revision
      }
      case 'removed':
        return !found.has(change.key)
      case 'requested':
        return requests.has(change.request)
      case 'answered':
        return !requests.has(change.request)
      case 'level':
        return this.#level.position === change.position
          ? undefined
          : shard.settledLevel.position >= change.position
      case 'epoch':
        return shard.epoch >= change.epoch
    }
  }

  get size(): number {
    return this.#rows.size
  }

  #apply(changes: readonly Change[], revisions: readonly number[]): void {
    for (const [index, change] of changes.entries()) {
      switch (change.to) {
        case 'live':
          this.#rows.set(change.key, { ...change.row, revision: revisions[index] ?? 0 })
          break
        case 'removed':
          this.#rows.delete(change.key)
          break
        case 'requested':
          this.#requests.add(change.request)
          break
        case 'answered':
          this.#requests.delete(change.request)
          break
        case 'level':
          this.#level = change
          break
        case 'epoch':
          this.#epoch = change.epoch
      }
    }
  }
}

function isSame(row: ExpectedRow, expected: ExpectedRow): boolean {
  return (
    row.identity === expected.identity &&
    row.position === expected.position &&
    row.attempt === expected.attempt &&
    row.payload === expected.payload &&
    (expected.revision === 0 || row.revision === expected.revision)
  )
}

type Row = Awaited<ReturnType<Store['list']>>['items'][number]

async function listAll(store: Store): Promise<Row[]> {
  const rows: Row[] = []
  let cursor: string | undefined
  do {
    const page = await store.list({ namespace: NAMESPACE, limit: 5000, cursor })
    rows.push(...page.items)
    cursor = page.cursor
  } while (cursor !== undefined)
  return rows
}

async function readInbox(store: Store) {
  const [row] = await store.shards()
  const { fence } = await acquireShard(store, 'parent', row!.epoch + 7, 60_000)
  const requests = new Set((await store.requests(fence, 1_000_000)).map((request) => request.id))
  return { requests, fence }
}

async function checkCounts(store: Store, listed: readonly Row[]): Promise<string[]> {
  const { created, settled, cancelled, replaced, dead } = await store.counts()
  const rows = await store.countRows()
  const letters = await store.deadLetters({ namespace: NAMESPACE, limit: 100_000 })
  const faults: string[] = []
  if (created !== rows + settled + cancelled + replaced + dead) {
    faults.push(
      `the counts do not add up: ${JSON.stringify({ created, rows, settled, cancelled, replaced, dead })}`,
    )
  }
  if (rows !== listed.length) faults.push(`${listed.length} rows are listed, ${rows} are counted`)
  if (letters.cursor !== undefined) return faults
  // A timer that goes on has a dead letter for each occurrence that died, from the write that set the next one.
  const continued = new Map<number, number>()
  for (const { row, reason } of letters.items) {
    if (reason === 'goes on') continued.set(row.identity, (continued.get(row.identity) ?? 0) + 1)
  }
  const final = letters.items.filter(({ reason }) => reason !== 'goes on').length
  if (final !== dead) faults.push(`${dead} dead timers are counted, but ${final} have a letter`)
  for (const { key, identity, occurrence } of listed) {
    const died = continued.get(identity) ?? 0
    if (died !== occurrence) faults.push(`${key} is at occurrence ${occurrence}, but has ${died} letters`)
  }
  return faults
}
