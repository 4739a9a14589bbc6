import type { Store } from 'carillon/store'
import type { Change, Line, Standing } from './report.js'

const NAMESPACE = 'chaos'

interface Kept extends Standing {
  /** 0 where the child could not tell any more. */
  readonly revision: number
}

/**
 * What must be in the store, from what was acknowledged. Calls that were under way at the kill may have been
 * carried out or not, each wholly: which of the two it was is read from the store, and must fit everywhere.
 */
export class Ledger {
  readonly #rows = new Map<string, Kept>()
  readonly #requests = new Set<string>()
  readonly #open = new Map<number, readonly Change[]>()
  #level = { position: 0, revision: 0 }
  acknowledged = 0
  underWay = 0
  /** Of those under way, how many turned out to have been carried out. */
  carriedOut = 0

  take(line: Line): void {
    if (line.say === 'ask') this.#open.set(line.call, line.changes)
    if (line.say !== 'done') return
    const changes = this.#open.get(line.call)
    if (changes === undefined) throw new Error(`call ${line.call} was done before it was asked`)
    this.#open.delete(line.call)
    this.#apply(changes, line.revisions)
    this.acknowledged++
  }

  /** What is wrong with the store; empty when all is as it must be. Afterwards the ledger says what is there. */
  async check(store: Store): Promise<string[]> {
    const faults: string[] = []
    const found = new Map<string, Kept>()
    const rows = await rowsOf(store)
    for (const row of rows) {
      const { identity, position, attempt, revision } = row
      const payload = Buffer.from(row.payload).toString('latin1')
      found.set(row.key, { identity, position, attempt, payload, revision })
    }
    const [shard] = await store.shards()
    const { requests, fence } = await inboxOf(store)
    for (const [call, changes] of this.#open) {
      this.underWay++
      const happened = changes.map((change) =>
        this.#hasHappened(change, found, requests, shard!.settledLevel),
      )
      const known = happened.filter((each) => each !== undefined)
      if (known.some((each) => each !== known[0])) {
        faults.push(`call ${call} is half there: ${JSON.stringify(changes.slice(0, 3))}`)
      }
      if (known[0] !== true) continue
      this.carriedOut++
      this.#apply(
        changes,
        changes.map((change) => (change.to === 'standing' ? (found.get(change.key)?.revision ?? 0) : 0)),
      )
    }
    this.#open.clear()
    for (const [key, kept] of this.#rows) {
      const row = found.get(key)
      if (row === undefined) faults.push(`${key} is lost: ${JSON.stringify(kept)}`)
      else if (!isSame(row, kept))
        faults.push(`${key} is ${JSON.stringify(row)}, not ${JSON.stringify(kept)}`)
    }
    for (const [key, row] of found) {
      if (!this.#rows.has(key)) faults.push(`${key} came back: ${JSON.stringify(row)}`)
    }
    for (const request of this.#requests) if (!requests.has(request)) faults.push(`${request} is lost`)
    for (const request of requests) if (!this.#requests.has(request)) faults.push(`${request} came back`)
    const { settledLevel } = shard!
    if (settledLevel.position < this.#level.position) {
      faults.push(`the settled level went back from ${this.#level.position} to ${settledLevel.position}`)
    }
    faults.push(...(await countFaults(store, rows)))
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

  /** Whether the store shows that a change was carried out; undefined where both would look the same. */
  #hasHappened(
    change: Change,
    found: ReadonlyMap<string, Kept>,
    requests: ReadonlySet<string>,
    level: { readonly position: number },
  ): boolean | undefined {
    switch (change.to) {
      case 'standing': {
        const row = found.get(change.key)
        const isThere = row !== undefined && isSame(row, { ...change.row, revision: 0 })
        return isThere && row.revision !== this.#rows.get(change.key)?.revision
      }
      case 'gone':
        return !found.has(change.key)
      case 'asked':
        return requests.has(change.request)
      case 'answered':
        return !requests.has(change.request)
      case 'level':
        return this.#level.position === change.position ? undefined : level.position >= change.position
    }
  }

  get size(): number {
    return this.#rows.size
  }

  #apply(changes: readonly Change[], revisions: readonly number[]): void {
    for (const [index, change] of changes.entries()) {
      switch (change.to) {
        case 'standing':
          this.#rows.set(change.key, { ...change.row, revision: revisions[index] ?? 0 })
          break
        case 'gone':
          this.#rows.delete(change.key)
          break
        case 'asked':
          this.#requests.add(change.request)
          break
        case 'answered':
          this.#requests.delete(change.request)
          break
        case 'level':
          this.#level = change
      }
    }
  }
}

function isSame(row: Kept, kept: Kept): boolean {
  return (
    row.identity === kept.identity &&
    row.position === kept.position &&
    row.attempt === kept.attempt &&
    row.payload === kept.payload &&
    (kept.revision === 0 || row.revision === kept.revision)
  )
}

type Row = Awaited<ReturnType<Store['list']>>['items'][number]

async function rowsOf(store: Store): Promise<Row[]> {
  const rows: Row[] = []
  let cursor: string | undefined
  do {
    const page = await store.list({ namespace: NAMESPACE, limit: 5000, cursor })
    rows.push(...page.items)
    cursor = page.cursor
  } while (cursor !== undefined)
  return rows
}

async function inboxOf(store: Store) {
  const [row] = await store.shards()
  const { epoch } = row!
  const own = await store.claim({
    shard: 0,
    owner: 'parent',
    nonce: epoch + 7,
    leaseMs: 60_000,
    expectedEpoch: epoch,
  })
  if (own === undefined) throw new Error(`the shard was not to be had: ${JSON.stringify(row)}`)
  const fence = { shard: 0, epoch: own.epoch, nonce: own.nonce, settledLevel: own.settledLevel }
  const requests = new Set((await store.requests(fence, 1_000_000)).map((request) => request.id))
  return { requests, fence }
}

async function countFaults(store: Store, listed: readonly Row[]): Promise<string[]> {
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
  // A timer that goes on left a letter for each occurrence that died, in the write that set the next.
  const wentOn = new Map<number, number>()
  for (const { row, reason } of letters.items) {
    if (reason === 'goes on') wentOn.set(row.identity, (wentOn.get(row.identity) ?? 0) + 1)
  }
  const ended = letters.items.filter(({ reason }) => reason !== 'goes on').length
  if (ended !== dead) faults.push(`${dead} dead timers are counted, ${ended} letters of them are there`)
  for (const { key, identity, occurrence } of listed) {
    const died = wentOn.get(identity) ?? 0
    if (died !== occurrence) faults.push(`${key} is at occurrence ${occurrence} and has ${died} letters`)
  }
  return faults
}
