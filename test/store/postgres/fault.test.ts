import { describe, expect, it } from 'vitest'
import { faultOf, isConnectionLost } from '../../../src/store/postgres/net/fault.js'

const severities = {
  English: ['ERROR', 'PANIC'],
  German: ['FEHLER', 'PANIK'],
  Chinese: ['错误', '比致命错误还过分的错误'],
}
// Disk full, out of memory, a disk error, an internal error, a file without permission: of a statement, or of the server.
const ambiguous = ['53100', '53200', '58030', 'XX000', '42501']

describe.each(Object.entries(severities))(
  'a write error of a PostgreSQL server with messages in %s',
  (_, [error, panic]) => {
    it.each(ambiguous)(
      'with SQLSTATE %s means that the write was undone, if the connection still answers',
      async (code) => {
        const refused = reported(error!, code)
        const isLost = await isConnectionLost(refused, { query: async () => ({ rows: [] }) })
        expect(isLost).toBe(false)
        expect(faultOf(refused, 'writing', 'write', isLost)).not.toMatchObject({ code: 'unknown-outcome' })
      },
    )

    it.each(ambiguous)(
      'with SQLSTATE %s means that the write was undone, if the failed transaction still answers',
      async (code) => {
        const answer = async (): Promise<never> => Promise.reject(reported(error!, '25P02'))
        expect(await isConnectionLost(reported(error!, code), { query: answer })).toBe(false)
      },
    )

    it.each(ambiguous)(
      'with SQLSTATE %s leaves the outcome unknown, if the connection is gone',
      async (code) => {
        const stopped = reported(panic!, code)
        for (const gone of [new Error('Connection terminated unexpectedly'), reported(panic!, '57P02')]) {
          const isLost = await isConnectionLost(stopped, { query: async () => Promise.reject(gone) })
          expect(isLost).toBe(true)
          expect(faultOf(stopped, 'writing', 'write', isLost)).toMatchObject({ code: 'unknown-outcome' })
        }
      },
    )

    it.each(['57P01', '57P02', '08006', '25P03', '25P04'])(
      'with SQLSTATE %s means that the session ended',
      async (code) => {
        expect(await isConnectionLost(reported(panic!, code), { query: notExpected })).toBe(true)
      },
    )

    it.each(['CA001', '23505', '40P01', '57014', '42P01'])(
      'with SQLSTATE %s means that the write was undone, without a further query',
      async (code) => {
        expect(await isConnectionLost(reported(error!, code), { query: notExpected })).toBe(false)
      },
    )
  },
)

it('treats a network error as a lost connection, even if its code looks like an SQLSTATE', async () => {
  for (const code of ['EPIPE', 'ECONNRESET']) {
    const broken = Object.assign(new Error('write EPIPE'), { code })
    expect(await isConnectionLost(broken, { query: notExpected })).toBe(true)
    expect(faultOf(broken, 'writing', 'write', true)).toMatchObject({ code: 'unknown-outcome' })
  }
})

function reported(severity: string, code: string): Error {
  return Object.assign(new Error('the message of the server'), { severity, code })
}

function notExpected(): Promise<never> {
  throw new Error('unexpected query on the connection')
}
