import { describe, expect, it } from 'vitest'
import { Diagnosis } from '../../src/front/diagnose/diagnosis.js'
import type { TimerEngine } from '../../src/engine/index.js'
import type { Store } from '../../src/store/index.js'

const NOW = 1_000_000
const fine = { isAllPaused: false, pause: undefined, trouble: undefined, isHandled: true } as const

/** A store of three shards, with these shards owned and these inboxes busy, and an instance on it. */
function diagnosisOf({ owned = [0, 1, 2], busy = [] as number[], isClockOff = false, due = 0 }) {
  const store = {
    mode: 'owned',
    shardCount: 3,
    now: () => Promise.resolve(NOW),
    shards: () =>
      Promise.resolve(
        [0, 1, 2].map((shard) => ({ shard, owner: 'a', leaseUntil: owned.includes(shard) ? NOW + 1 : NOW })),
      ),
    busyInboxes: () => Promise.resolve(busy),
    histogram: () => Promise.resolve([due]),
  } as unknown as Store
  const engine = {
    clock: { now: () => NOW },
    settings: { stallMs: 10_000, maxClockOffsetMs: 500 },
    stats: () => ({ shards: [], unowned: [], isClockOff, clockOffsetMs: 700, counts: { unreadable: 0 } }),
  } as unknown as TimerEngine
  return new Diagnosis({ engine, store, namespace: 'default', factsOf: (kind) => ({ ...fine, kind }) })
}

async function codes(diagnosis: Diagnosis): Promise<readonly string[]> {
  return (await diagnosis.ofKinds(['work'])).map(({ code }) => code)
}

describe('a diagnosis', () => {
  it('finds nothing if all is well', async () => {
    expect(await codes(diagnosisOf({}))).toEqual([])
  })

  it('names shards without an owner, and says if no instance is started', async () => {
    const [cause] = await diagnosisOf({ owned: [0] }).ofKinds([])
    expect(cause).toMatchObject({
      code: 'no-owner',
      text: expect.stringContaining('shard 1, 2 of 3') as string,
    })
    expect(await codes(diagnosisOf({ owned: [] }))).toEqual(['no-instance'])
  })

  it('names inboxes with requests, and a clock that is off', async () => {
    expect(await codes(diagnosisOf({ busy: [2] }))).toEqual(['inbox-waiting'])
    expect(await codes(diagnosisOf({ isClockOff: true }))).toEqual(['clock-off'])
  })

  it('of a timer looks at its own shard only', async () => {
    const found = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        diagnosisOf({ owned: [0, 1], busy: [2] }).ofTimer({
          namespace: 'default',
          kind: 'work',
          key: `k${n}`,
        }),
      ),
    )
    const texts = new Set(found.map((causes) => causes.map(({ code }) => code).join()))
    expect(texts).toEqual(new Set(['', 'no-owner,inbox-waiting']))
  })
})
