import { describe, expect, it } from 'vitest'
import { FewAtOnce } from '../../src/store/few-at-once.js'

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

  it('lets more through when it may, and no more than that when it may no longer', async () => {
    const few = new FewAtOnce(1)
    const begun: number[] = []
    const ends: (() => void)[] = []
    const calls = Array.from({ length: 6 }, (_, number) =>
      few.run(() => {
        begun.push(number)
        return new Promise<void>((resolve) => ends.push(resolve))
      }),
    )
    await turn()
    expect(begun).toEqual([0])
    few.allow(4)
    await turn()
    expect(begun).toEqual([0, 1, 2, 3])
    few.allow(2)
    ends[0]!()
    ends[1]!()
    await turn()
    expect(begun).toEqual([0, 1, 2, 3])
    ends[2]!()
    await turn()
    expect(begun).toEqual([0, 1, 2, 3, 4])
    for (const end of ends.slice(3)) end()
    await turn()
    ends[5]!()
    await Promise.all(calls)
  })
})

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}
