/**
 * A process whose disk fails. It opens a file store under shim.c and writes. Then it sets the shim's rule, and reports
 * how each call ended. It ends by itself. If a call is never answered, the parent's timeout ends it.
 * Arguments: the folder, the file with the shim's rule, the rule, the scene.
 */
import fs, { writeFileSync } from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import process from 'node:process'
import { openTimers, timer } from 'carillon'
import { FileStore, type Operation } from 'carillon/store'
import { acquireShard } from '../chaos/acquire-shard.js'

const [folder = '', faults = '', rule = '', scene = 'writes'] = process.argv.slice(2)
let rules = 0
let identities = 0
const acknowledged: string[] = []
const refused: string[] = []
const outcomes: Record<string, string> = {}

if (scene === 'open') {
  setRule(rule)
  await outcome('open', () => FileStore.open(folder))
} else if (scene === 'engine') await useEngine()
else await useStore()
report()

async function useStore(): Promise<void> {
  const store = await FileStore.open(folder)
  const { fence } = await acquireShard(store, 'failing', 7, 1e9)
  const write = async (name: string, size = 40): Promise<unknown> => {
    const operations = Array.from({ length: size }, (_, i) => setOf(`${name}-${i}`))
    const code = await outcome(name, () => store.write(fence, { operations }))
    const keys = operations.map(({ key }) => key)
    if (code === 'ok') acknowledged.push(...keys)
    else if (code !== 'unknown-outcome') refused.push(...keys)
    return code
  }
  for (let i = 0; i < 10; i++) await write(`before${i}`)
  if (scene === 'silence') panic()
  else setRule(rule)
  if (scene === 'compact') {
    // Calls during the last step of the compaction wait, and must be answered too.
    const waiting: Promise<unknown>[] = []
    onChmod(() => {
      waiting.push(
        write('meanwhile'),
        outcome('reading', () => store.find([setOf('before0-0')])),
      )
    })
    await outcome('compact', () => store.compact())
    await Promise.all(waiting)
  } else if (scene === 'backup') {
    await outcome('backup', () => store.backup(`${folder}/../copy`))
  } else if (scene !== 'stop') {
    const first = write('first')
    const second = write('second')
    // The third write comes a turn later: it is applied while the first two are being written.
    await new Promise((resolve) => setImmediate(resolve))
    const third = new Promise((resolve) => setImmediate(resolve)).then(() => write('third'))
    await Promise.all([first, second, third])
  }
  if (scene !== 'stop') {
    await write('later')
    await outcome('find', () => store.find([setOf('before0-0')]))
    await outcome('list', () => store.list({ namespace: 'test', limit: 10 }))
    await outcome('compact-later', () => store.compact())
  }
  await outcome('stop', () => store.stop())
  setRule('none 5 0 0')
  if (scene !== 'again') return
  const again = await FileStore.open(folder)
  outcomes['rows'] = String(await again.countRows())
  await again.stop()
}

/** Runs a whole engine on the failing disk: the user's calls must end, and so must `stop`. */
async function useEngine(): Promise<void> {
  const kind = timer<string>('kind')
  const timers = await openTimers({ store: `file:${folder}` })
  timers.handle(kind, () => undefined)
  await timers.start()
  for (let i = 0; i < 10; i++) {
    await timers.set(kind, `before-${i}`, { in: '1h', payload: '' })
    acknowledged.push(`before-${i}`)
  }
  setRule(rule)
  await outcome('set', () => timers.set(kind, 'during', { in: '1h', payload: '' }))
  await outcome('set-later', () => timers.set(kind, 'after', { in: '1h', payload: '' }))
  await outcome('stop', () => timers.stop())
}

/** Breaks the LMDB environment behind the store's back: the binding has one per path and process. */
function panic(): void {
  interface Raw {
    transactionSync(run: () => unknown): unknown
    openDB(options: object): { putSync(key: Buffer, value: Buffer, version: number): unknown }
  }
  const lmdb = createRequire(import.meta.url)('lmdb') as { readonly open: (options: object) => Raw }
  const binary = { keyEncoding: 'binary', encoding: 'binary', overlappingSync: false, pageSize: 8192 }
  const root = lmdb.open({ path: folder, noSubdir: false, maxDbs: 12, mapSize: 2 ** 40, ...binary })
  const meta = root.openDB({ name: 'meta', useVersions: true, ...binary })
  setRule(rule)
  try {
    root.transactionSync(() => meta.putSync(Buffer.from('x'), Buffer.from('y'), 0))
  } catch (error) {
    outcomes['panic'] = String((error as { readonly code?: unknown }).code)
  }
}

function setOf(key: string): Extract<Operation, { readonly type: 'set' }> {
  const position = Date.now() + 1e6 + identities
  return {
    type: 'set',
    namespace: 'test',
    kind: 'sample',
    key,
    identity: ++identities,
    createdAt: 0,
    payload: Buffer.alloc(100, 1),
    tags: [],
    details: '',
    dueAt: position,
    attempt: 0,
    occurrence: 0,
    position,
  }
}

function setRule(what: string): void {
  writeFileSync(faults, `${++rules} ${what}\n`)
}

async function outcome(name: string, call: () => Promise<unknown>): Promise<string> {
  let code = 'ok'
  try {
    await call()
  } catch (error) {
    code = String((error as { readonly code?: unknown }).code ?? error)
  }
  outcomes[name] = code
  return code
}

function report(): void {
  process.stdout.write(`${JSON.stringify({ outcomes, acknowledged, refused })}\n`)
}

/** Calls `run` at the next change of a file's mode. The last step of a compaction begins with one. */
function onChmod(run: () => void): void {
  const { chmodSync } = fs
  fs.chmodSync = (...given) => {
    fs.chmodSync = chmodSync
    syncBuiltinESMExports()
    run()
    chmodSync(...given)
  }
  syncBuiltinESMExports()
}
