import { describe, expect, it } from 'vitest'
import { FewAtOnce } from '../../../src/store/redis/few-at-once.js'

describe('few at once', () => {
  it('lets no more through than it may, in the order they came, also after one that failed', async () => {
    const few = new FewAtOnce(2)
    const begun: number[] = []
    const ends: ((error?: Error) => void)[] = []
    const calls = Array.from({ length: 5 }, (_, number) =>
      few.run(() => {
        begun.push(number)
        return new Promise<number>((resolve, reject) => {
          ends[number] = (error) => (error === undefined ? resolve(number) : reject(error))
        })
      }),
    )
    await turn()
    expect(begun).toEqual([0, 1])
    ends[1]!(new Error('lost'))
    await expect(calls[1]).rejects.toThrow('lost')
    await turn()
    expect(begun).toEqual([0, 1, 2])
    ends[0]!()
    ends[2]!()
    await turn()
    expect(begun).toEqual([0, 1, 2, 3, 4])
    ends[3]!()
    ends[4]!()
    expect(await Promise.all([calls[0], calls[2], calls[3], calls[4]])).toEqual([0, 2, 3, 4])
    expect(await few.run(() => Promise.resolve('free again'))).toBe('free again')
  })
})

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}
