import { describe, expect, it } from 'vitest'
import { CallCoalescer } from '../../../src/store/postgres/calls/call-coalescer.js'

interface Sent {
  readonly calls: readonly number[]
  readonly finish: (error?: Error) => void
}

function recordingCoalescer(maxInFlight: number, maxWeight = Infinity) {
  const sent: Sent[] = []
  const coalescer = new CallCoalescer<number, string>({
    maxInFlight,
    maxWeight,
    weightOf: (call) => call,
    send: (calls) =>
      new Promise((resolve, reject) => {
        const finish = (error?: Error): void =>
          error === undefined ? resolve(calls.map((call) => `answer ${call}`)) : reject(error)
        sent.push({ calls, finish })
      }),
  })
  return { coalescer, sent }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('a call coalescer', () => {
  it('sends the calls of one turn together and gives each its own answer', async () => {
    const { coalescer, sent } = recordingCoalescer(1)
    const answers = Promise.all([coalescer.call(1), Promise.resolve().then(() => coalescer.call(2))])
    await turn()
    expect(sent.map(({ calls }) => calls)).toEqual([[1, 2]])
    sent[0]!.finish()
    expect(await answers).toEqual(['answer 1', 'answer 2'])
  })

  it('lets calls wait in order while maxInFlight sends run', async () => {
    const { coalescer, sent } = recordingCoalescer(2)
    for (const call of [1, 2, 3, 4]) {
      void coalescer.call(call)
      await turn()
    }
    expect(sent.map(({ calls }) => calls)).toEqual([[1], [2]])
    sent[1]!.finish()
    await turn()
    expect(sent.map(({ calls }) => calls)).toEqual([[1], [2], [3, 4]])
  })

  it('splits calls that weigh more than maxWeight together, and sends a heavier one alone', async () => {
    const { coalescer, sent } = recordingCoalescer(9, 10)
    for (const call of [4, 5, 2, 40, 1]) void coalescer.call(call)
    await turn()
    expect(sent.map(({ calls }) => calls)).toEqual([[4, 5], [2], [40], [1]])
  })

  it('fails all calls of a failed send, but not those after them', async () => {
    const { coalescer, sent } = recordingCoalescer(1)
    const outcomes = Promise.allSettled([coalescer.call(1), coalescer.call(2)])
    await turn()
    const later = coalescer.call(3)
    sent[0]!.finish(new Error('lost'))
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await turn()
    sent[1]!.finish()
    expect(await later).toBe('answer 3')
  })
})
