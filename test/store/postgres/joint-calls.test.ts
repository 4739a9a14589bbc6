import { describe, expect, it } from 'vitest'
import { JointCalls } from '../../../src/store/postgres/joint-calls.js'

interface Sent {
  readonly calls: readonly number[]
  readonly finish: (error?: Error) => void
}

function recorded(mostUnderWay: number, mostWeight = Infinity) {
  const sent: Sent[] = []
  const joint = new JointCalls<number, string>({
    mostUnderWay,
    mostWeight,
    weightOf: (call) => call,
    send: (calls) =>
      new Promise((resolve, reject) => {
        const finish = (error?: Error): void =>
          error === undefined ? resolve(calls.map((call) => `answer ${call}`)) : reject(error)
        sent.push({ calls, finish })
      }),
  })
  return { joint, sent }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('calls that meet', () => {
  it('in one turn go together, and each gets its own answer', async () => {
    const { joint, sent } = recorded(1)
    const answers = Promise.all([joint.call(1), Promise.resolve().then(() => joint.call(2))])
    await turn()
    expect(sent.map(({ calls }) => calls)).toEqual([[1, 2]])
    sent[0]!.finish()
    expect(await answers).toEqual(['answer 1', 'answer 2'])
  })

  it('wait while as many as may be are under way, in their order', async () => {
    const { joint, sent } = recorded(2)
    for (const call of [1, 2, 3, 4]) {
      void joint.call(call)
      await turn()
    }
    expect(sent.map(({ calls }) => calls)).toEqual([[1], [2]])
    sent[1]!.finish()
    await turn()
    expect(sent.map(({ calls }) => calls)).toEqual([[1], [2], [3, 4]])
  })

  it('are sent apart when they weigh too much, and one that does so alone goes alone', async () => {
    const { joint, sent } = recorded(9, 10)
    for (const call of [4, 5, 2, 40, 1]) void joint.call(call)
    await turn()
    expect(sent.map(({ calls }) => calls)).toEqual([[4, 5], [2], [40], [1]])
  })

  it('fail together, and those after them do not', async () => {
    const { joint, sent } = recorded(1)
    const outcomes = Promise.allSettled([joint.call(1), joint.call(2)])
    await turn()
    const later = joint.call(3)
    sent[0]!.finish(new Error('lost'))
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await turn()
    sent[1]!.finish()
    expect(await later).toBe('answer 3')
  })
})
