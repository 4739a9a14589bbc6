import { describe, expect, it } from 'vitest'
import { MemoryStore, type Operation, type Store } from '../../src/store/index.js'
import { describeStoreContract, type TestRunner } from '../../src/testing/index.js'

/** A store that does everything through another, but for what is given. */
type Fault = (store: Store) => Partial<Store>

/** Each breaks one promise; some case must notice, and this is the one that says so best. */
const faults: Readonly<Record<string, readonly [noticedBy: RegExp, fault: Fault]>> = {
  'a zombie writes': [
    /after another took over is refused everything/,
    (store) => ({
      write: async (fence, write) => {
        if (fence === undefined) return await store.write(fence, write)
        const { epoch, nonce } = (await store.shards())[fence.shard]!
        return await store.write({ ...fence, epoch, nonce }, write)
      },
    }),
  ],
  'the tenth of a batch is acknowledged and not stored': [
    /10,000 operations in one write answer in their order/,
    (store) => ({
      write: async (fence, write) => {
        const operations = write.operations.filter((_, index) => index !== 9)
        const answer = await store.write(fence, { ...write, operations })
        return {
          ...answer,
          answers: write.operations.map((_, i) => answer.answers[i < 9 ? i : i - 1] ?? answer.answers[0]!),
        }
      },
    }),
  ],
  'a page gives its last row once more': [
    /come once each, in pages of 7/,
    (store) => ({
      load: async (fence, request) => {
        const loaded = await store.load(fence, request)
        const { page } = loaded
        if (page.size < 7) return loaded
        return { ...loaded, page: { ...page, row: (i) => page.row(i === 3 ? 2 : i) } }
      },
    }),
  ],
  'names fold case': [
    /names that nearly are the same, are kept apart/,
    (store) => ({
      write: async (fence, write) =>
        await store.write(fence, { ...write, operations: write.operations.map(folded) }),
      find: async (names) =>
        await store.find(names.map((name) => ({ ...name, key: name.key.toLowerCase() }))),
    }),
  ],
  'payloads pass as text': [
    /payloads of every byte/,
    (store) => ({
      write: async (fence, write) =>
        await store.write(fence, { ...write, operations: write.operations.map(asText) }),
    }),
  ],
  'a list ends with its first page': [
    /lists in the order of shard and place, whatever the size of the page/,
    (store) => ({ list: async (query) => ({ ...(await store.list(query)), cursor: undefined }) }),
  ],
  'settled timers are not counted': [
    /a mix of all of it adds up/,
    (store) => ({ counts: async () => ({ ...(await store.counts()), settled: 0 }) }),
  ],
  'a tally misses a row': [
    /a mix of all of it adds up/,
    (store) => ({
      tallies: async () =>
        (await store.tallies()).map((tally) => Object.assign({}, tally, { rows: tally.rows - 1 })),
    }),
  ],
  'asking twice is asking twice': [
    /asking twice is asking once/,
    (store) => {
      let asked = 0
      return {
        append: async (requests) =>
          await store.append(
            requests.map((request) => Object.assign({}, request, { id: `${request.id}#${asked++}` })),
          ),
      }
    },
  ],
  'stopping stops nothing': [/every call after it is refused/, () => ({ stop: async () => {} })],
  'two claimers share a row': [
    /two claimers never share a row/,
    (store) => {
      let last: Awaited<ReturnType<Store['claimDue']>> = []
      return {
        claimDue: async (claim) => {
          const rows = await store.claimDue(claim)
          const answer = rows.length === 0 ? last : rows
          last = rows
          return answer
        },
      }
    },
  ],
  'a settlement loses its history': [
    /settling at the level that stands is allowed/,
    (store) => ({
      settle: async (fence, settlement) => await store.settle(fence, { ...settlement, history: [] }),
    }),
  ],
  'a dead timer never goes on': [
    /a dead timer that goes on is kept as a letter and rewritten/,
    (store) => ({
      settle: async (fence, settlement) =>
        await store.settle(fence, {
          ...settlement,
          dead: settlement.dead.map(({ row, diedAt, reason }) => ({ row, diedAt, reason })),
        }),
    }),
  ],
  'a dead timer goes on without its letter': [
    /a dead timer that goes on is kept as a letter and rewritten/,
    (store) => ({
      settle: async (fence, settlement) => {
        const { followUps } = settlement
        const going = settlement.dead.flatMap(({ row, next }) =>
          next === undefined ? [] : [Object.assign({ row }, next)],
        )
        const answer = await store.settle(fence, {
          ...settlement,
          dead: settlement.dead.filter(({ next }) => next === undefined),
          followUps: [...followUps, ...going],
        })
        let ended = 0
        let went = followUps.length
        const dead = settlement.dead.map(({ next }) => {
          if (next === undefined) return answer.dead[ended++]!
          const row = answer.followUps[went++]
          return { kept: row !== undefined, next: row }
        })
        return { ...answer, dead, followUps: answer.followUps.slice(0, followUps.length) }
      },
    }),
  ],
  'a timer that goes on is counted as dead': [
    /a dead timer that goes on is kept as a letter and rewritten/,
    (store) => {
      let more = 0
      return {
        settle: async (fence, settlement) => {
          const answer = await store.settle(fence, settlement)
          more += answer.dead.filter(({ next }) => next !== undefined).length
          return answer
        },
        counts: async () => {
          const counts = await store.counts()
          return { ...counts, dead: counts.dead + more }
        },
      }
    },
  ],
  'a follow-up loses its details': [
    /a follow-up keeps the details of its row unless it brings others/,
    (store) => ({
      settle: async (fence, settlement) =>
        await store.settle(fence, {
          ...settlement,
          followUps: settlement.followUps.map((followUp) => {
            const { details: _, ...rest } = followUp
            return rest
          }),
        }),
    }),
  ],
  'a lease that is given up for dead ends its timer': [
    /a dead lease whose timer goes on keeps a letter and the timer/,
    (store) => ({
      settleClaimed: async (settlements, history) =>
        await store.settleClaimed(
          settlements.map((settlement) => {
            if (settlement.outcome !== 'dead') return settlement
            const { next: _, ...rest } = settlement
            return rest
          }),
          history,
        ),
    }),
  ],
  'the read level rises to the end of the millisecond': [
    /come once each, in pages of 7/,
    (store) => ({
      load: async (fence, request) => {
        const loaded = await store.load(fence, request)
        if (loaded.page.size < request.limit) return loaded
        const untilExclusive = loaded.readLevel.position + 1
        const rest = await store.load(fence, {
          ...request,
          from: loaded.readLevel,
          untilExclusive,
          limit: 1e9,
        })
        return { ...loaded, readLevel: rest.readLevel }
      },
    }),
  ],
}

describe('the contract suite', () => {
  it('is green where nothing is planted', async () => {
    expect(await failuresOf(() => ({}))).toEqual([])
  })

  it.each(Object.entries(faults))('notices that %s', async (_, [noticedBy, fault]) => {
    const failures = await failuresOf(fault)
    expect(failures.filter((title) => noticedBy.test(title))).toHaveLength(1)
  })

  it('says how to repeat a life that went wrong', async () => {
    const cases = casesOf(() => ({
      counts: async () => ({ created: 1, settled: 0, cancelled: 0, replaced: 0, dead: 0 }),
    }))
    const walk = cases.find(({ title }) => title.includes('random operations'))!
    await expect(walk.run()).rejects.toThrow(
      /after \d+ operations; the last steps were[^]*replay it alone with describeStoreContract\(name, open, \{ model: \{ seed: 5, rounds: 1/,
    )
  })

  it('asks for a runner where there are no globals', () => {
    expect(() => describeStoreContract('x', async () => new MemoryStore())).toThrow(
      /pass those of your test runner/,
    )
  })

  it('gives every skipped case its reason', () => {
    const skipped: string[] = []
    const it2 = Object.assign(() => {}, { skip: (title: string) => skipped.push(title) })
    describeStoreContract('x', async () => new MemoryStore(), {
      runner: { describe: (_, body) => body(), it: it2 },
      lacks: { claim: 'it has owners', durability: 'it forgets' },
    })
    expect(skipped.length).toBeGreaterThan(8)
    for (const title of skipped) expect(title).toMatch(/\(skipped: it (has owners|forgets)\)$/)
  })
})

interface Case {
  readonly title: string
  readonly run: () => Promise<void>
}

function casesOf(fault: Fault): Case[] {
  const cases: Case[] = []
  const runner: TestRunner = {
    describe: (_, body) => body(),
    it: Object.assign((title: string, run: () => Promise<void>) => cases.push({ title, run }), {
      skip: () => {},
    }),
  }
  const open = async (options: ConstructorParameters<typeof MemoryStore>[0]): Promise<Store> => {
    const store: Store = new MemoryStore(options)
    const planted = fault(store)
    return new Proxy<Store>(store, {
      get: (_, name: keyof Store) => {
        const value = planted[name] ?? store[name]
        return typeof value === 'function' ? (value as () => unknown).bind(store) : value
      },
    })
  }
  describeStoreContract('planted', open, { runner, model: { seed: 5, rounds: 1, operationsPerRound: 200 } })
  return cases
}

async function failuresOf(fault: Fault): Promise<string[]> {
  const failures: string[] = []
  for (const { title, run } of casesOf(fault)) {
    try {
      await run()
    } catch {
      failures.push(title)
    }
  }
  return failures
}

function folded(operation: Operation): Operation {
  return operation.type === 'answer' ? operation : { ...operation, key: operation.key.toLowerCase() }
}

function asText(operation: Operation): Operation {
  if (operation.type !== 'set' || !(operation.payload instanceof Uint8Array)) return operation
  return { ...operation, payload: Buffer.from(Buffer.from(operation.payload).toString()) }
}
