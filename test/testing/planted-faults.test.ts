import { describe, expect, it } from 'vitest'
import { MemoryStore, type Operation, type Store } from '../../src/store/index.js'
import { describeStoreContract, type TestRunner } from '../../src/testing/index.js'

/** Overrides methods of a correct store. */
type Fault = (store: Store) => Partial<Store>

/** Each breaks one promise. Several cases may notice; `noticedBy` is the one that names it best. */
const faults: Readonly<Record<string, readonly [noticedBy: RegExp, fault: Fault]>> = {
  'an owner that lost its shard can write': [
    /every call of an owner whose shard was taken over is refused/,
    (store) => ({
      write: async (fence, write) => {
        if (fence === undefined) return await store.write(fence, write)
        const { epoch, nonce } = (await store.shards())[fence.shard]!
        return await store.write({ ...fence, epoch, nonce }, write)
      },
    }),
  ],
  'the tenth operation of a batch is acknowledged but not stored': [
    /10,000 operations in one write are answered in order/,
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
  'a page has one of its rows twice': [
    /load reads 1,000 timers of one millisecond once each, in pages of 7/,
    (store) => ({
      load: async (fence, request) => {
        const loaded = await store.load(fence, request)
        const { page } = loaded
        if (page.size < 7) return loaded
        return { ...loaded, page: { ...page, row: (i) => page.row(i === 3 ? 2 : i) } }
      },
    }),
  ],
  'names are compared without case': [
    /names in every script and names that are almost equal are kept apart/,
    (store) => ({
      write: async (fence, write) =>
        await store.write(fence, { ...write, operations: write.operations.map(folded) }),
      find: async (names) =>
        await store.find(names.map((name) => ({ ...name, key: name.key.toLowerCase() }))),
    }),
  ],
  'payloads are converted to strings': [
    /payloads with every byte, empty and of the greatest size come back unchanged/,
    (store) => ({
      write: async (fence, write) =>
        await store.write(fence, { ...write, operations: write.operations.map(asText) }),
    }),
  ],
  'a list ends after its first page': [
    /list is in the order of shard and place for every page size/,
    (store) => ({ list: async (query) => ({ ...(await store.list(query)), cursor: undefined }) }),
  ],
  'settled timers are not counted': [
    /the counters add up after a mix of all operations/,
    (store) => ({ counts: async () => ({ ...(await store.counts()), settled: 0 }) }),
  ],
  'a tally misses a row': [
    /the counters add up after a mix of all operations/,
    (store) => ({
      tallies: async () =>
        (await store.tallies()).map((tally) => Object.assign({}, tally, { rows: tally.rows - 1 })),
    }),
  ],
  'a request that is appended twice is applied twice': [
    /a request that is appended twice is applied once/,
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
  'a stopped store still answers': [/every call after it is refused/, () => ({ stop: async () => {} })],
  'two claimers get the same row': [
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
    /a settlement at the current level is accepted/,
    (store) => ({
      settle: async (fence, settlement) => await store.settle(fence, { ...settlement, history: [] }),
    }),
  ],
  'a dead timer never goes on': [
    /a dead occurrence of a timer that goes on leaves a dead letter and the rewritten row/,
    (store) => ({
      settle: async (fence, settlement) =>
        await store.settle(fence, {
          ...settlement,
          dead: settlement.dead.map(({ row, diedAt, reason }) => ({ row, diedAt, reason })),
        }),
    }),
  ],
  'a dead timer goes on without a dead letter': [
    /a dead occurrence of a timer that goes on leaves a dead letter and the rewritten row/,
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
    /a dead occurrence of a timer that goes on leaves a dead letter and the rewritten row/,
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
    /a follow-up keeps the details of its row unless others are given/,
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
  'a claim that is settled as dead never goes on': [
    /settling a claim as dead with a next occurrence keeps a dead letter and the timer/,
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
  'a dead letter loses the tags of its row': [
    /every field of a timer survives in its dead letter/,
    (store) => ({
      deadLetters: async (query) => {
        const { items, cursor } = await store.deadLetters(query)
        const bare = items.map((letter) => Object.assign({}, letter, { row: { ...letter.row, tags: [] } }))
        return { items: bare, cursor }
      },
    }),
  ],
  'the inbox loses the attempts of a set': [
    /every field of a timer survives a set through the inbox/,
    (store) => ({
      requests: async (fence, limit) =>
        (await store.requests(fence, limit)).map((request) => {
          const { operation } = request
          return operation.type === 'set'
            ? Object.assign({}, request, { operation: { ...operation, attempt: 0 } })
            : request
        }),
    }),
  ],
  'a loaded row loses its creation time': [
    /every field of a timer survives a set by the owner/,
    (store) => ({
      load: async (fence, request) => {
        const loaded = await store.load(fence, request)
        const { page } = loaded
        return { ...loaded, page: { ...page, row: (index) => ({ ...page.row(index), createdAt: 0 }) } }
      },
    }),
  ],
  'the read level rises to the end of the millisecond': [
    /load reads 1,000 timers of one millisecond once each, in pages of 7/,
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

describe('describeStoreContract', () => {
  it('passes for a store without a planted fault', async () => {
    expect(await failuresOf(() => ({}))).toEqual([])
  })

  it.each(Object.entries(faults))('notices that %s', async (_, [noticedBy, fault]) => {
    const failures = await failuresOf(fault)
    expect(failures.filter((title) => noticedBy.test(title))).toHaveLength(1)
  })

  it('says how to repeat a failing random round alone', async () => {
    const cases = casesOf(() => ({
      counts: async () => ({ created: 1, settled: 0, cancelled: 0, replaced: 0, dead: 0 }),
    }))
    const walk = cases.find(({ title }) => title.includes('random operations'))!
    await expect(walk.run()).rejects.toThrow(
      /after \d+ operations; the last steps were[^]*replay it alone with describeStoreContract\(name, open, \{ model: \{ seed: 5, rounds: 1/,
    )
  })

  it('asks for a runner when there are no global describe and it', () => {
    expect(() => describeStoreContract('x', async () => new MemoryStore())).toThrow(
      /pass those of your test runner/,
    )
  })

  it('puts the reason into the title of every skipped case', () => {
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
