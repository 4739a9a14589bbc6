import { describe, expect, it } from 'vitest'
import { openTimers, timer } from '../../src/index.js'
import * as orm from '../../src/orm/index.js'
import { newSchema, sql, thisServer, usePostgres } from '../store/postgres/scratch.js'

// A sample of `npm run compat -- --only orm`, which tries every library in several versions.
const sample = ['pg', 'drizzle', 'drizzle-postgres-js', 'kysely', 'postgres.js']

interface Ways {
  readonly tryWay: (name: string, url: string, parts: object) => Promise<void>
}

const adapters = { ...orm }

usePostgres()

describe('carillon/orm', () => {
  it.each(sample)('commits and rolls back set, move and cancel with the rows of %s', async (name) => {
    const module = new URL('./ways.mjs', import.meta.url).href
    const { tryWay } = (await import(module)) as Ways
    const parts = { openTimers, timer, orm: adapters, query: sql, schema: newSchema() }
    await expect(tryWay(name, thisServer().url, parts)).resolves.toBeUndefined()
  })

  it.each([
    ['fromDrizzle', 'execute'],
    ['fromKysely', 'executeQuery'],
    ['fromKnex', 'raw'],
    ['fromPrisma', '$queryRawUnsafe'],
    ['fromTypeOrm', 'query'],
    ['fromMikroOrm', 'execute'],
    ['fromPostgresJs', 'unsafe'],
  ] as const)('%s refuses what has no method %s', (name, method) => {
    for (const wrong of [undefined, null, {}, 'begin', { [method]: 1 }])
      expect(() => adapters[name](wrong as never)).toThrow(
        expect.objectContaining({
          code: 'invalid-option',
          message: expect.stringContaining(method) as unknown,
        }),
      )
  })

  it('reports what the server said inside the error of an ORM', async () => {
    const timers = await openTimers({ store: `${thisServer().url}?schema=${newSchema()}` })
    const denied = Object.assign(new Error('permission denied'), { code: '42501', severity: 'ERROR' })
    const wrapped = new Error('Failed query', { cause: denied })
    try {
      const failing = timers.using({ query: () => Promise.reject(wrapped) })
      await expect(failing.set(timer('remind'), 'a', { in: 0 })).rejects.toMatchObject({
        code: 'store-denied',
        cause: denied,
      })
    } finally {
      await timers.stop()
    }
  })
})
