import { describe, expect, it } from 'vitest'
import type { Carriage, StoreCall } from '../../src/store/index.js'
import type { Firing } from '../../src/timer/index.js'
import { Rig, START } from './rig.js'

const settings = {
  acquireMs: 100,
  heartbeatMs: 100,
  leaseMs: 2000,
  leaseMarginMs: 200,
  retryMs: 20,
  requestTimeoutMs: 5000,
}
const name = { namespace: 'n', kind: 'k', key: 'a' }

/** A worker that is started and owns the only shard, and a web process that is only opened. */
async function pair(carriage?: Carriage) {
  const worker = new Rig({ settings, memberId: 'worker', ...(carriage && { carriage }) })
  const web = new Rig({ settings, rig: worker, memberId: 'web' })
  await worker.settled(worker.engine.start())
  await worker.settled(web.engine.open())
  await worker.clock.advance(500)
  return { worker, web }
}

/** A pair of which the web process writes slowly, and one operation at a time. `slowRig` makes another such process. */
async function slowWeb() {
  const pace = { writeMs: 50 }
  const worker = new Rig({ settings, memberId: 'worker' })
  const slow: Carriage = {
    carry: async (call, commit) => {
      if (call.name === 'write') await new Promise<void>((go) => worker.clock.wakeAfter(pace.writeMs, go))
      return commit()
    },
    wake: (wake) => wake(),
  }
  const slowRig = (memberId: string) =>
    new Rig({ settings: { ...settings, writeBatch: 1 }, rig: worker, carriage: slow, memberId })
  const web = slowRig('web')
  await worker.settled(worker.engine.start())
  await worker.settled(web.engine.open())
  await worker.clock.advance(500)
  return { worker, web, pace, slowRig }
}

function outcomesOf(answers: readonly { readonly outcome: string }[]): string[] {
  return answers.map(({ outcome }) => outcome)
}

describe('an instance that does not own the shard', () => {
  it('is answered appended for a free name, and set once a taken name is replaced', async () => {
    const { web } = await pair()
    expect(outcomesOf(await web.submit(web.set('a', 60_000)))).toEqual(['appended'])
    expect(outcomesOf(await web.submit(web.set('a', 70_000)))).toEqual(['set'])
    // Of two sets of one name in a call, the second is behind the first.
    expect(outcomesOf(await web.submit(web.set('b', 60_000), web.set('b', 70_000))).at(1)).toBe('set')
  })

  it('is answered for a taken name only when the owner has applied the set', async () => {
    let isSlow = false
    const state: { release: () => void } = { release: () => undefined }
    const slow: Carriage = {
      carry: async (call: StoreCall, commit) => {
        if (isSlow && call.name === 'requests') await new Promise<void>((go) => (state.release = go))
        return commit()
      },
      wake: (wake) => wake(),
    }
    const { worker, web } = await pair(slow)
    await worker.submit(worker.set('a', 60_000))
    isSlow = true
    const answers: string[] = []
    const set = web.engine.submit([web.set('a', 70_000)]).then((given) => answers.push(...outcomesOf(given)))
    await worker.clock.advance(1000)
    expect(answers).toEqual([])
    isSlow = false
    state.release()
    await worker.settled(set)
    expect(answers).toEqual(['set'])
  })

  it('is answered set, and a firing that the owner delivered before and starts late does not start', async () => {
    let isSlow = false
    const slow: Carriage = {
      carry: async (call, commit) => {
        const answer = await commit()
        if (isSlow && call.name === 'write') await new Promise<void>((go) => worker.clock.wakeAfter(1000, go))
        return answer
      },
      wake: (wake) => wake(),
    }
    const { worker, web } = await pair(slow)
    const delivered: Firing[] = []
    worker.handle = (firing) => void delivered.push(firing)
    await worker.submit(worker.set('a', 100))
    await worker.clock.advance(200)
    expect(delivered).toHaveLength(1)
    isSlow = true
    expect(outcomesOf(await web.submit(web.set('a', 20_000, { identity: 2 })))).toEqual(['set'])
    // The owner's write is stored, but its answer is still on its way to the owner.
    expect(delivered[0]!.start()).toBe(false)
    await worker.clock.advance(3000)
    expect(worker.fired).toHaveLength(1)
    await worker.clock.advance(20_000)
    expect(worker.fired).toMatchObject([{ key: 'a' }, { key: 'a', attempt: 1 }])
    expect(delivered[1]!.start()).toBe(true)
  })

  it('sees what was acknowledged to it and to others', async () => {
    const { worker, web } = await pair()
    const other = new Rig({ settings, rig: worker, memberId: 'other' })
    await worker.settled(other.engine.open())
    const [answer] = await web.submit(web.set('a', 60_000))
    expect(answer!.outcome).toBe('appended')
    await worker.settled(other.engine.applyAcknowledged([name]))
    expect(await worker.settled(other.store.find([name]))).toMatchObject([{ key: 'a' }])
    await web.submit(web.set('b', 60_000))
    await worker.settled(other.engine.applyAcknowledged())
    expect(await worker.settled(other.store.countRows())).toBe(2)
  })

  it('can set, replace, move and cancel while no instance is started', async () => {
    const web = new Rig({ settings, memberId: 'web', shardCount: 4 })
    await web.settled(web.engine.open())
    expect(outcomesOf(await web.submit(web.set('a', 60_000)))).toEqual(['appended'])
    expect(outcomesOf(await web.submit(web.set('a', 70_000)))).toEqual(['set'])
    expect(outcomesOf(await web.submit(web.move('a', 80_000)))).toEqual(['moved'])
    expect(outcomesOf(await web.submit(web.set('a', 1000, { ifAbsent: true })))).toEqual(['conflict'])
    expect(outcomesOf(await web.submit(web.cancel('a')))).toEqual(['cancelled'])
    expect(outcomesOf(await web.submit(web.cancel('a')))).toEqual(['unknown'])
    expect((await web.settled(web.store.shards())).map(({ owner }) => owner)).toEqual(['', '', '', ''])
    expect(web.fired).toEqual([])
  })

  it('starts nothing while it applies the inbox of a shard, and the next owner fires what is due', async () => {
    const { worker, web } = await pair()
    await worker.submit(worker.set('due', 1000), worker.set('old', 1000))
    await worker.settled(worker.engine.stop())
    await web.clock.advance(2000)
    expect(outcomesOf(await web.submit(web.set('old', 60_000)))).toEqual(['set'])
    expect(web.fired).toEqual([])
    const next = new Rig({ settings, rig: worker, memberId: 'next' })
    await worker.settled(next.engine.start())
    await worker.clock.advance(1000)
    expect(next.fired).toMatchObject([{ key: 'due', attempt: 1 }])
  })

  it('is answered set although memory is full of the timers that its sets replace', async () => {
    const worker = new Rig({ settings: { ...settings, maxTimers: 5, writeBatch: 4 }, memberId: 'worker' })
    const web = new Rig({ settings, rig: worker, memberId: 'web' })
    await worker.settled(web.engine.open())
    const keys = Array.from({ length: 5 }, (_, index) => `key ${index}`)
    const first = await web.submit(...keys.map((key) => web.set(key, 1000)))
    const second = web.engine.submit(keys.map((key) => web.set(key, 2000)))
    await web.clock.advance(10)
    await worker.settled(worker.engine.start())
    expect(outcomesOf(first)).toEqual(keys.map(() => 'appended'))
    expect(outcomesOf(await worker.settled(second))).toEqual(keys.map(() => 'set'))
    await worker.clock.advance(5000)
    expect(worker.fired.map(({ key, at }) => [key, at >= 2000])).toEqual(keys.map((key) => [key, true]))
  })

  it('keeps its place before a later cancel by an owner that has not read the inbox yet', async () => {
    const deaf: Carriage = { carry: async (_, commit) => Promise.resolve(commit()), wake: () => undefined }
    const slow = { ...settings, inboxPollMs: 10_000, leaseMs: 60_000 }
    const worker = new Rig({ settings: slow, memberId: 'worker', carriage: deaf })
    worker.handle = () => undefined
    await worker.settled(worker.engine.start())
    await worker.submit(worker.set('a', 600))
    await worker.clock.advance(1000)
    expect(worker.fired).toHaveLength(1)
    // A transaction of a caller commits its set without asking whether the name is free.
    const operation = worker.set('a', 60_000)
    await worker.store.append([{ id: 'tx', shard: 0, deadline: START + 60_000, operation }])
    expect(outcomesOf(await worker.submit(worker.cancel('a')))).toEqual(['cancelled'])
  })

  it('waits for the lease of a dead owner, and applies the set then', async () => {
    let isCut = false
    const cut: Carriage = {
      carry: async (_, commit) => (isCut ? await new Promise<never>(() => undefined) : commit()),
      wake: (wake) => void (isCut || wake()),
    }
    const { worker, web } = await pair(cut)
    await worker.submit(worker.set('a', 60_000))
    isCut = true
    expect(outcomesOf(await web.submit(web.set('a', 70_000)))).toEqual(['set'])
    const [row] = await web.settled(web.store.shards())
    expect(row).toMatchObject({ owner: '', epoch: 2 })
  })

  it('leaves the rest of a long inbox to an instance that starts', async () => {
    const { worker, web, pace, slowRig } = await slowWeb()
    await worker.settled(worker.engine.stop())
    const keys = Array.from({ length: 200 }, (_, index) => `key ${index}`)
    await web.submit(...keys.map((key) => web.set(key, 60_000)))
    const counting = web.engine.applyAcknowledged().then(() => web.store.countRows())
    await web.clock.advance(1000)
    expect((await web.settled(web.store.shards()))[0]!.owner).toBe('web')
    // Fast enough to answer the barrier before the shard is released.
    pace.writeMs = 10
    const next = slowRig('next')
    await worker.settled(next.engine.start())
    await worker.clock.advance(1000)
    expect((await web.settled(web.store.shards()))[0]!.owner).toBe('next')
    expect(await web.settled(counting)).toBe(200)
  })

  it('leaves the rest of a long inbox to itself when it starts', async () => {
    const { worker, web } = await slowWeb()
    await worker.settled(worker.engine.stop())
    const keys = Array.from({ length: 60 }, (_, index) => `key ${index}`)
    await web.submit(...keys.map((key) => web.set(key, 60_000)))
    void web.engine.submit([web.cancel('key 59')])
    await web.clock.advance(1000)
    let isStarted = false
    void web.engine.start().then(() => (isStarted = true))
    await web.clock.advance(500)
    expect(isStarted).toBe(true)
    await web.clock.advance(5000)
    expect(await web.settled(web.store.countRows())).toBe(59)
    expect((await web.settled(web.store.shards()))[0]!.owner).toBe('web')
    await web.clock.advance(60_000)
    expect(web.fired.map(({ at }) => at)).toEqual(keys.slice(1).map(() => 60_000))
  })

  it('leaves a shard without an owner to started instances for a while', async () => {
    const { worker, web } = await pair()
    await worker.submit(worker.set('a', 60_000))
    const next = new Rig({ settings, rig: worker, memberId: 'next' })
    await worker.settled(next.engine.start())
    await worker.clock.advance(1000)
    await worker.settled(worker.engine.stop())
    await web.submit(web.set('a', 70_000))
    const [row] = await web.settled(web.store.shards())
    expect(row!.owner).toBe('next')
  })
})
