import { statSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { openTimers, timer } from '../../src/front/index.js'
import { newFolder } from '../store/file/scratch.js'

const MEBIBYTE = 2 ** 20

it(
  'a file store stays small when its timers are replaced all day and never fire',
  { timeout: 60_000 },
  async () => {
    const folder = newFolder()
    const timers = await openTimers({ store: `file:${folder}` })
    await timers.start()
    const kind = timer<string>('debounced')
    const payload = 'x'.repeat(10_000)
    const rows = Array.from({ length: 100 }, (_, index) => ({ key: `k${index}`, in: '1h', payload }))
    for (let round = 0; round < 300; round++) await timers.setMany(kind, rows)
    await timers.stop()
    // 300 MB were written. 1 MB of it is still in use.
    expect(statSync(path.join(folder, 'data.mdb')).size / MEBIBYTE).toBeLessThan(150)
  },
)
