/**
 * The one that gets killed: it opens the store, claims its shard and changes timers as fast as it can, many
 * calls at once on keys of their own, until somebody ends it. Calls in flight never share a key, so each call
 * can be judged alone. With `early-ack` it lies, acknowledging what it has not waited for: that must be noticed.
 */
import { writeSync } from 'node:fs'
import process from 'node:process'
import { type Fence, openStore, type Operation, type Settlement, type Store } from 'carillon/store'
import { Random } from 'carillon/testing'
import type { Change, Line, Standing } from './report.js'

const KEYS = 3000
const CALLS_AT_ONCE = 12
const NAMESPACE = 'chaos'
const KIND = 'timer'

type Row = Awaited<ReturnType<Store['find']>>[number] & object

const [folder = '', round = '1', seed = '1', lie = ''] = process.argv.slice(2)
const random = new Random(Number(seed) * 1000 + Number(round))
const standing = new Map<string, Row>()
const waiting = new Map<string, { readonly key: string; readonly identity: number }>()
let calls = 0
let made = 0

const from = performance.now()
const store = await openStore(`file:${folder}`, {})
let fence = await claimed()
let readLevel = (await store.shards())[0]!.readLevel
await learn()
tell({ say: 'ready', openMs: performance.now() - from })
for (;;) await turn()

/** Some calls at once, on disjoint keys; then the next. */
async function turn(): Promise<void> {
  const busy = new Set<string>()
  const work: Promise<void>[] = []
  if (random.chance(0.5)) {
    const settle = await settling(busy)
    work.push(settle())
  }
  for (let i = random.below(CALLS_AT_ONCE); i >= 0; i--) {
    if (random.chance(0.1)) work.push(asking())
    else work.push(writing(busy, 1 + random.below(random.chance(0.1) ? 400 : 12)))
  }
  await Promise.all(work)
  if (random.chance(0.05)) await store.sweep(fence)
}

async function writing(busy: Set<string>, size: number): Promise<void> {
  const operations: Operation[] = []
  const changes: Change[] = []
  const answered = [...waiting].slice(0, random.below(4))
  for (const [request, { key, identity }] of answered) {
    waiting.delete(request)
    busy.add(key)
    const set = setOf(key, identity)
    operations.push({ ...set, request })
    changes.push({ to: 'standing', key, row: shown(set) }, { to: 'answered', request })
  }
  while (operations.length < size) {
    const key = `key-${random.below(KEYS)}`
    if (busy.has(key)) continue
    busy.add(key)
    const row = standing.get(key)
    const what = random.fraction()
    if (row === undefined || what < 0.4) {
      const set = setOf(key, newIdentity())
      operations.push(set)
      changes.push({ to: 'standing', key, row: shown(set) })
    } else if (what < 0.7) {
      const position = later()
      operations.push({ type: 'move', namespace: NAMESPACE, kind: KIND, key, position, dueAt: position })
      changes.push({ to: 'standing', key, row: { ...shown(row), position } })
    } else {
      operations.push({ type: 'cancel', namespace: NAMESPACE, kind: KIND, key })
      changes.push({ to: 'gone', key, how: 'cancelled' })
    }
  }
  await carriedOut(changes, async () => {
    const { answers } = await store.write(fence, { operations })
    const revisions: number[] = []
    for (const [index, operation] of operations.entries()) {
      const answer = answers[index]!
      if (operation.type === 'answer') continue
      if (operation.type === 'set' && answer.outcome === 'set') {
        standing.set(operation.key, { ...operation, ...answer.place })
        revisions.push(answer.place.revision)
        if (operation.request !== undefined) revisions.push(0)
      } else if (answer.outcome === 'moved') {
        standing.set(operation.key, answer.row)
        revisions.push(answer.row.revision)
      } else if (answer.outcome === 'cancelled') {
        standing.delete(operation.key)
        revisions.push(0)
      } else throw new Error(`${JSON.stringify(operation)} was answered ${JSON.stringify(answer)}`)
    }
    return revisions
  })
}

/** Somebody else's wish, into the inbox. */
async function asking(): Promise<void> {
  const request = `request-${newIdentity()}`
  const key = `asked-${random.below(50)}-${request}`
  const identity = newIdentity()
  const { position: _, ...operation } = setOf(key, identity)
  await carriedOut([{ to: 'asked', request }], async () => {
    await store.append([{ id: request, shard: 0, deadline: Date.now() + 3_600_000, operation }])
    waiting.set(request, { key, identity })
    return [0]
  })
}

/** Loads what is due and settles it: most of it done, some to come again, some dead, some of these going on. */
async function settling(busy: Set<string>): Promise<() => Promise<void>> {
  const now = Date.now()
  const request = { from: readLevel, untilExclusive: now, limit: 300, limitBytes: 1e9 }
  const loaded = await store.load(fence, request)
  readLevel = loaded.readLevel
  const due = [...standing.values()].filter((row) => isBefore(row, readLevel) && row.position <= now)
  const level = { position: Math.min(readLevel.position, now), revision: 0 }
  const changes: Change[] = [{ to: 'level', ...level }]
  const followUps: Settlement['followUps'][number][] = []
  const dead: Settlement['dead'][number][] = []
  let settledCount = 0
  for (const row of due.filter((each) => isBefore(each, level))) {
    busy.add(row.key)
    const fate = random.weighted({ 'comes again': 30, 'dies and goes on': 7, dies: 6, ends: 57 })
    switch (fate) {
      case 'comes again': {
        const position = later()
        const attempt = row.attempt + 1
        followUps.push({ row, position, dueAt: position, attempt, occurrence: row.occurrence })
        changes.push({ to: 'standing', key: row.key, row: { ...shown(row), position, attempt } })
        break
      }
      case 'dies and goes on': {
        const position = later()
        const next = { position, dueAt: position, attempt: 0, occurrence: row.occurrence + 1 }
        dead.push({ row, diedAt: now, reason: 'goes on', next })
        changes.push({ to: 'standing', key: row.key, row: { ...shown(row), position, attempt: 0 } })
        break
      }
      case 'dies':
        dead.push({ row, diedAt: now, reason: 'chaos' })
        changes.push({ to: 'gone', key: row.key, how: 'dead' })
        break
      case 'ends':
        settledCount++
        changes.push({ to: 'gone', key: row.key, how: 'settled' })
    }
  }
  const settle = async (): Promise<number[]> => {
    const id = newIdentity()
    const settlement = { id, level, settledCount, followUps, dead, done: [], history: [] }
    const answer = await store.settle(fence, settlement)
    fence = { ...fence, settledLevel: level }
    for (const change of changes) if (change.to === 'gone') standing.delete(change.key)
    for (const row of [...answer.followUps, ...answer.dead.map(({ next }) => next)]) {
      if (row !== undefined) standing.set(row.key, row)
    }
    return changes.map((change) => (change.to === 'standing' ? standing.get(change.key)!.revision : 0))
  }
  return () => carriedOut(changes, settle)
}

async function carriedOut(changes: readonly Change[], carryOut: () => Promise<number[]>): Promise<void> {
  const call = ++calls
  tell({ say: 'ask', call, changes })
  if (lie === 'early-ack') tell({ say: 'done', call, revisions: changes.map(() => 0) })
  const revisions = await carryOut()
  if (lie === '') tell({ say: 'done', call, revisions })
}

async function claimed(): Promise<Fence> {
  const [row] = await store.shards()
  const { epoch } = row!
  const nonce = Number(round) * 1000 + 1
  // The lease is over at once: whoever comes after the kill need not wait.
  const own = await store.claim({
    shard: 0,
    owner: `round-${round}`,
    nonce,
    leaseMs: 1,
    expectedEpoch: epoch,
  })
  if (own === undefined) throw new Error(`the shard was not to be had: ${JSON.stringify(row)}`)
  return { shard: 0, epoch: own.epoch, nonce, settledLevel: own.settledLevel }
}

/** What those before left: the child goes on with it. */
async function learn(): Promise<void> {
  let cursor: string | undefined
  do {
    const page = await store.list({ namespace: NAMESPACE, limit: 1000, cursor })
    for (const row of page.items) standing.set(row.key, row)
    cursor = page.cursor
  } while (cursor !== undefined)
  for (const { id, operation } of await store.requests(fence, 10_000)) {
    if (operation.type === 'set') waiting.set(id, { key: operation.key, identity: operation.identity })
  }
}

function setOf(key: string, identity: number): Extract<Operation, { readonly type: 'set' }> {
  const position = later()
  const payload = Buffer.from(`${key} of ${identity} `.repeat(1 + (identity % 7)))
  const content = {
    namespace: NAMESPACE,
    kind: KIND,
    key,
    identity,
    createdAt: Date.now(),
    payload,
    tags: [],
  }
  return { type: 'set', ...content, details: '', attempt: 0, occurrence: 0, dueAt: position, position }
}

function shown({
  identity,
  position,
  attempt,
  payload,
}: Omit<Standing, 'payload'> & { payload: Uint8Array }): Standing {
  return { identity, position, attempt, payload: Buffer.from(payload).toString('latin1') }
}

/** Soon enough to be settled in this life, or in a later one. */
function later(): number {
  return Date.now() + 20 + random.below(random.chance(0.2) ? 86_400_000 : 2000)
}

function newIdentity(): number {
  return Number(round) * 10_000_000 + ++made
}

function isBefore(
  a: { position: number; revision: number },
  b: { position: number; revision: number },
): boolean {
  return a.position < b.position || (a.position === b.position && a.revision < b.revision)
}

/** Returns when the parent's pipe has all of it: what is said must not depend on this process living on. */
function tell(line: Line): void {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(1, bytes, at)
    } catch (error) {
      // The pipe is full: the parent is behind.
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    }
  }
}
