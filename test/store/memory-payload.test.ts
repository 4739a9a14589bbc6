import { expect, it } from 'vitest'
import { rowOf } from '../../src/store/memory/memory-row.js'

it('a memory row copies its payload, even a Buffer, whose slice would be a view', () => {
  const payload = Buffer.from([1, 2, 3])
  const content = {
    namespace: 'n',
    kind: 'k',
    key: 'a',
    identity: 1,
    createdAt: 0,
    payload,
    tags: [],
    details: '',
  }
  const row = rowOf(content, { dueAt: 0, attempt: 0, occurrence: 0 }, 0, 1)
  payload[0] = 9
  expect([...row.payload]).toEqual([1, 2, 3])
})
