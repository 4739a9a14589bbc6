import { describe, expect, it } from 'vitest'
import type { Batch } from '../../../src/store/file/lmdb/batch.js'
import { Committer } from '../../../src/store/file/lmdb/committer.js'

/** A committer that keeps what was committed. */
function committer(): { committer: Committer; committed: string[] } {
  const committed: string[] = []
  const commit = (batch: Batch): Promise<void> => {
    for (const { key } of batch.changes) committed.push(key.toString())
    return Promise.resolve()
  }
  return {
    committer: new Committer(
      commit,
      () => undefined,
      () => undefined,
    ),
    committed,
  }
}

function put(key: string): (batch: Batch) => string {
  return (batch) => {
    batch.put('meta', Buffer.from(key), Buffer.from(key))
    return key
  }
}

function fail(): never {
  throw new RangeError('planted')
}

describe('the committer of a file store', () => {
  it('commits the writes that share a turn with a read that throws', async () => {
    const { committer: calls, committed } = committer()
    const answers = await Promise.allSettled([calls.run(put('a')), calls.read(fail), calls.run(put('b'))])
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(answers[1]).toMatchObject({ reason: { code: 'store-damaged', cause: { message: 'planted' } } })
    expect(committed).toEqual(['a', 'b'])
  })

  it('undoes the writes before a change that throws, and tells their callers that nothing was written', async () => {
    const { committer: calls, committed } = committer()
    const answers = await Promise.allSettled([calls.run(put('a')), calls.run(fail), calls.run(put('b'))])
    expect(answers).toMatchObject([
      { reason: { code: 'store-unavailable' } },
      { reason: { code: 'store-damaged' } },
      { value: 'b' },
    ])
    expect(committed).toEqual(['b'])
  })

  it('undoes the writes before a read whose preparation throws', async () => {
    const { committer: calls, committed } = committer()
    const answers = await Promise.allSettled([calls.run(put('a')), calls.read(() => 1, fail)])
    expect(answers).toMatchObject([{ reason: { code: 'store-unavailable' } }, { status: 'rejected' }])
    expect(committed).toEqual([])
  })
})
