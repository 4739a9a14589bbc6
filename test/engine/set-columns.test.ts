import { describe, expect, it } from 'vitest'
import { StoreError } from '../../src/error/index.js'
import { type Carriage, SetColumns } from '../../src/store/index.js'
import type { Answer } from '../../src/engine/answer.js'
import { PlainTask, Task } from '../../src/engine/write/task.js'
import { TaskQueue } from '../../src/engine/write/task-queue.js'
import { Rig, START } from './rig.js'

let identity = 1_000_000

function setsOf(keys: readonly string[], inMs: (index: number) => number): SetColumns {
  const sets = new SetColumns({ namespace: 'n', kind: 'k', createdAt: START }, keys.length, 1000)
  for (const [index, key] of keys.entries()) sets.add(key, ++identity, START + inMs(index), { index })
  return sets
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

const many = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`)

describe.each(['preload', 'lookahead'] as const)('plain sets with %s', (strategy) => {
  const settings = { strategy }

  it('fire, whether due soon or late, and are answered with their revisions', async () => {
    const rig = new Rig({ settings, shardCount: 4, holdsAll: true })
    await rig.settled(rig.engine.start())
    const sets = setsOf(many('a', 60), (index) => (index % 3 === 0 ? -100 : index * 10_000))
    const revisions = await rig.settled(rig.engine.submitPlain(sets))
    expect(revisions).toBeInstanceOf(Float64Array)
    const rows = await rig.store.find(sets.operations())
    expect(rows.map((row) => row!.revision)).toEqual([...(revisions as Float64Array)])
    expect(rows.map((row) => textOf(row!.payload))).toEqual(
      many('', 60).map((_, index) => `{"index":${index}}`),
    )
    await rig.clock.advance('10m')
    expect(rig.fired.map(({ key }) => key).toSorted()).toEqual(many('a', 60).toSorted())
    for (const { key, at } of rig.fired)
      expect(at).toBeGreaterThanOrEqual(sets.dueAts[Number(key.slice(2))]! - START)
    expect(await rig.store.counts()).toMatchObject({ created: 60, settled: 60 })
  })

  it('keep their order among other operations on the same key', async () => {
    const rig = new Rig({ settings })
    await rig.settled(rig.engine.start())
    const keys = many('b', 40)
    const [before, plain, after] = await rig.settled(
      Promise.all([
        rig.engine.submit(keys.map((key) => rig.set(key, 90_000))),
        rig.engine.submitPlain(setsOf([...keys, 'new'], () => 60_000)),
        rig.engine.submit(keys.slice(0, 20).map((key) => rig.cancel(key))),
      ]),
    )
    expect(before.every(({ outcome }) => outcome === 'set')).toBe(true)
    const answers = plain as readonly Answer[]
    expect(
      answers.slice(0, 40).every((answer) => answer.outcome === 'set' && answer.replaced !== undefined),
    ).toBe(true)
    expect(answers[40]).toMatchObject({ outcome: 'set', replaced: undefined })
    expect(after.every(({ outcome }) => outcome === 'cancelled')).toBe(true)
    await rig.clock.advance('2m')
    expect(rig.fired.map(({ key, at }) => [key, at])).toEqual(
      [...keys.slice(20), 'new'].map((key) => [key, 60_000]),
    )
  })

  it('are applied after requests that are already in the inbox', async () => {
    const owner = new Rig({ settings, holdsAll: true })
    await owner.settled(owner.engine.start())
    const other = new Rig({ settings, rig: owner })
    await other.settled(other.engine.open())
    await other.settled(other.engine.submit([other.set('x', 90_000)]))
    const answers = await owner.settled(owner.engine.submitPlain(setsOf(['w', 'x'], () => 60_000)))
    expect(answers).toMatchObject([{ outcome: 'set' }, { outcome: 'set', replaced: { identity: 1 } }])
    const [row] = await owner.store.find([{ namespace: 'n', kind: 'k', key: 'x' }])
    expect(row).toMatchObject({ dueAt: START + 60_000 })
  })

  it('go to the owner of their shard through its inbox', async () => {
    const owner = new Rig({ settings, shardCount: 4, holdsAll: true })
    await owner.settled(owner.engine.start())
    const other = new Rig({ settings, rig: owner })
    await other.settled(other.engine.open())
    const answers = await other.settled(other.engine.submitPlain(setsOf(many('c', 40), () => 5000)))
    expect((answers as readonly Answer[]).map(({ outcome }) => outcome)).toEqual(
      many('', 40).map(() => 'appended'),
    )
    await owner.clock.advance('30s')
    expect(owner.fired.map(({ key }) => key).toSorted()).toEqual(many('c', 40).toSorted())
  })

  it('are split into several writes if they exceed writeBatch', async () => {
    const rig = new Rig({ settings: { ...settings, writeBatch: 7 } })
    await rig.settled(rig.engine.start())
    const answers = await rig.settled(rig.engine.submitPlain(setsOf(many('d', 20), () => 5000)))
    expect((answers as readonly Answer[]).every(({ outcome }) => outcome === 'set')).toBe(true)
    expect(rig.engine.stats().counts.writes).toBe(3)
    await rig.clock.advance('10s')
    expect(rig.fired).toHaveLength(20)
  })

  it('are answered engine-busy beyond maxQueued', async () => {
    const rig = new Rig({ settings: { ...settings, maxQueued: 50 } })
    await rig.settled(rig.engine.start())
    const [first, second] = await rig.settled(
      Promise.all([
        rig.engine.submitPlain(setsOf(many('e', 40), () => 60_000)),
        // The first call is on its way, this one waits.
        rig.engine.submitPlain(setsOf(many('f', 40), () => 60_000)),
      ]),
    )
    expect(first).toBeInstanceOf(Float64Array)
    expect(second).toBeInstanceOf(Float64Array)
    const [, , third] = await rig.settled(
      Promise.all([
        rig.engine.submitPlain(setsOf(many('g', 40), () => 60_000)),
        rig.engine.submitPlain(setsOf(many('h', 40), () => 60_000)),
        rig.engine.submitPlain(setsOf(many('i', 40), () => 60_000)),
      ]),
    )
    expect(third).toMatchObject(
      many('', 40).map(() => ({ outcome: 'failed', error: { code: 'engine-busy' } })),
    )
  })

  it('are looked up if the answer to the write is lost, and none is set twice', async () => {
    let isLost = true
    const carriage: Carriage = {
      carry: async (call, commit) => {
        const answer = commit()
        if (call.name !== 'write' || !isLost) return await Promise.resolve(answer)
        isLost = false
        throw new StoreError('unknown-outcome', 'the answer was lost')
      },
      wake: (deliver) => deliver(),
    }
    const rig = new Rig({ settings, carriage })
    await rig.settled(rig.engine.start())
    const answers = await rig.settled(rig.engine.submitPlain(setsOf(many('j', 30), () => 5000)))
    expect((answers as readonly Answer[]).every(({ outcome }) => outcome === 'set')).toBe(true)
    expect(isLost).toBe(false)
    await rig.clock.advance('30s')
    expect(rig.fired).toHaveLength(30)
    expect(await rig.store.counts()).toMatchObject({ created: 30, settled: 30 })
  })

  it('are rejected by an instance that was stopped', async () => {
    const rig = new Rig({ settings })
    await rig.settled(rig.engine.start())
    await rig.settled(rig.engine.stop())
    await expect(rig.engine.submitPlain(setsOf(many('k', 20), () => 1))).rejects.toMatchObject({
      code: 'stopped',
    })
  })

  it('do not keep the buffer of their call in memory', async () => {
    const rig = new Rig({ settings: { ...settings, windowMs: 60_000 }, holdsAll: true })
    const payloads: Uint8Array[] = []
    rig.handle = (firing) => payloads.push(firing.row.payload)
    await rig.settled(rig.engine.start())
    await rig.clock.advance('1s')
    const sets = setsOf(many('l', 5000), (index) => (index === 7 ? 500 : 3_600_000))
    await rig.settled(rig.engine.submitPlain(sets))
    await rig.clock.advance('5s')
    expect(payloads.map(textOf)).toEqual(['{"index":7}'])
    expect(payloads[0]!.buffer).not.toBe(sets.payloads.bytes.buffer)
  })

  it.each([
    ['replace others', {}, 5000],
    ['exceed writeBatch', { writeBatch: 3000 }, 5000],
  ])('do not keep the buffer of their call if they %s', async (_, more, count) => {
    const rig = new Rig({ settings: { ...settings, windowMs: 60_000, ...more }, holdsAll: true })
    const payloads: Uint8Array[] = []
    rig.handle = (firing) => payloads.push(firing.row.payload)
    await rig.settled(rig.engine.start())
    await rig.clock.advance('1s')
    const sets = setsOf(many('m', count), (index) => (index === 7 ? 1500 : 3_600_000))
    await rig.settled(rig.engine.submit([rig.set('m-7', 3_600_000)]))
    await rig.settled(rig.engine.submitPlain(sets))
    await rig.clock.advance('5s')
    expect(payloads.map(textOf)).toEqual(['{"index":7}'])
    expect(payloads[0]!.buffer).not.toBe(sets.payloads.bytes.buffer)
  })

  it('share a write with those of other small calls', async () => {
    const rig = new Rig({ settings })
    await rig.settled(rig.engine.start())
    const calls = Array.from({ length: 100 }, (_, call) => setsOf(many(`n${call}`, 20), () => 5000))
    await rig.settled(Promise.all(calls.map((sets) => rig.engine.submitPlain(sets))))
    expect(rig.engine.stats().counts.writes).toBeLessThanOrEqual(2)
    await rig.clock.advance('10s')
    expect(rig.fired).toHaveLength(2000)
  })
})

describe('the queue of operations to write', () => {
  const nobody = { answered: () => undefined, areNew: () => undefined }
  const rig = new Rig()
  const setTask = (key: string, condition: { ifAbsent?: boolean } = {}): Task =>
    new Task(rig.set(key, 1, condition), undefined, nobody, 0)
  const plainTask = (count: number): PlainTask =>
    new PlainTask(
      { sets: setsOf(many('p', count), () => 1), indexes: Uint32Array.from(many('', count).keys()) },
      nobody,
    )
  const taken = (queue: TaskQueue, most = 100): string[] | number => {
    const batch = queue.takeBatch(most)
    return batch instanceof PlainTask ? batch.length : batch.map(({ asked }) => asked.key)
  }

  it('gives batches in order, with many plain sets in a batch of their own', () => {
    const queue = new TaskQueue()
    for (const task of [setTask('a'), setTask('b'), plainTask(300), setTask('c')]) queue.push(task)
    expect(queue.length).toBe(303)
    expect([taken(queue, 1000), taken(queue, 1000), queue.length]).toEqual([['a', 'b'], 300, 1])
    expect([taken(queue), queue.length]).toEqual([['c'], 0])
  })

  it('puts few plain sets into a batch with others, unless they are alone', () => {
    const queue = new TaskQueue()
    for (const task of [setTask('a'), plainTask(2), setTask('c'), plainTask(300), plainTask(3)])
      queue.push(task)
    expect(taken(queue, 1000)).toEqual(['a', 'p-0', 'p-1', 'c'])
    expect([taken(queue, 1000), taken(queue, 1000), queue.length]).toEqual([300, 3, 0])
  })

  it('splits plain sets that exceed the batch size', () => {
    const queue = new TaskQueue()
    queue.push(plainTask(5))
    queue.push(setTask('c'))
    expect(taken(queue, 3)).toEqual(['p-0', 'p-1', 'p-2'])
    expect([queue.length, taken(queue, 3), queue.length]).toEqual([3, ['p-3', 'p-4', 'c'], 0])
  })

  it('puts two operations that depend on the same row into different batches', () => {
    const queue = new TaskQueue()
    for (const task of [setTask('a'), setTask('a'), setTask('b', { ifAbsent: true }), setTask('a')])
      queue.push(task)
    expect([taken(queue), taken(queue)]).toEqual([['a', 'a', 'b'], ['a']])
    for (const task of [setTask('a'), setTask('a', { ifAbsent: true })]) queue.push(task)
    expect([taken(queue), taken(queue), queue.length]).toEqual([['a'], ['a'], 0])
  })

  it('puts operations back in front of the others', () => {
    const queue = new TaskQueue()
    queue.push(setTask('b'))
    queue.putBack([setTask('a')])
    expect([queue.length, queue.takeAll().length, queue.length]).toEqual([2, 2, 0])
  })
})
