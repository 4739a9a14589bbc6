// A bulk import: a million rows would come as a stream; here 50,000 come in batches. It may be run again.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openTimers, timer } from 'carillon'

const renew = timer<{ plan: string }>('renew')
const folder = await mkdtemp(path.join(tmpdir(), 'carillon-import-'))
const timers = await openTimers({ store: `file:${folder}/timers` })

/** The rows of the old system, as a database cursor would give them. */
function* rows(): Generator<{ key: string; at: number; payload: { plan: string } }> {
  for (let i = 0; i < 50_000; i++)
    yield {
      key: `customer:${i}`,
      at: Date.UTC(2030, 0, 1) + i * 60_000,
      payload: { plan: i % 3 === 0 ? 'pro' : 'free' },
    }
}

async function importAll(): Promise<number> {
  let count = 0
  let batch: { key: string; at: number; payload: { plan: string } }[] = []
  const write = async (): Promise<void> => {
    // One call is one write for thousands of timers. A row with a key that exists replaces it: a second run is harmless.
    count += (await timers.setMany(renew, batch)).length
    batch = []
  }
  for (const row of rows()) {
    batch.push(row)
    if (batch.length === 5000) await write()
  }
  await write()
  return count
}

console.log(`${await importAll()} set`)
console.log(`${await importAll()} set again`)
// Change your mind about a whole plan in one call.
const { found } = await timers.cancelMany({ kind: renew, keyPrefix: 'customer:4999' })
const { pending } = await timers.stats()
console.log(`${pending} wait, ${found} were cancelled by their prefix`)
await timers.stop()
await rm(folder, { recursive: true })
