import { describe, expect, expectTypeOf, it } from 'vitest'
import { Client } from '../../src/client/index.js'
import type { TimerFiring } from '../../src/delivery/index.js'
import {
  type AnyKind,
  openTimers,
  type RemoteTimers,
  type StandardSchema,
  timer,
  type TimerKind,
  Timers,
  type TransactionTimers,
} from '../../src/front/index.js'
import { openStore, type StoreUrl } from '../../src/store/index.js'

// `npm run check` compiles this file. The functions named `compiles…` are only compiled: a call that must not compile has
// a `@ts-expect-error`, and the check fails when it compiles after all.

const digest = timer('digest')
const letter = timer<'a' | 'b'>('letter')
const maybe = timer<{ n: number } | undefined>('maybe')

/** A schema that turns the digits of a JSON string into a number. */
const digits: StandardSchema<number, string> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof value === 'string' && /^\d+$/.test(value)
        ? { value: Number(value) }
        : { issues: [{ message: 'must be digits' }] },
  },
}
const counted = timer('counted', { payload: digits })

/** As libraries declare it, each with an interface of its own. */
declare const foreign: {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (
      value: unknown,
    ) => { readonly value: Date } | { readonly issues: readonly { message: string }[] }
    readonly types?: { readonly input: `${number}-${number}`; readonly output: Date } | undefined
  }
}

/** As a library without declared types writes it: only the result of `validate` has a type. */
const undeclared = timer('undeclared', {
  payload: {
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      validate: (value: unknown) => ({ value: { text: String(value) } }),
    },
  },
})

export async function compilesPayloads(timers: Timers, sets: TransactionTimers): Promise<void> {
  await timers.set(digest, 'k', { in: '5m' })
  await timers.set(letter, 'k', { in: '5m', payload: 'b' })
  await timers.set(maybe, 'k', { in: '5m' })
  await timers.set(maybe, 'k', { in: '5m', payload: { n: 1 } })
  await timers.setMany(letter, [{ key: 'k', in: '5m', payload: 'a' }])
  // @ts-expect-error a kind without a payload takes none
  await timers.set(digest, 'k', { in: '5m', payload: 42 })
  // @ts-expect-error a kind without a payload takes none
  await timers.setMany(digest, [{ in: '5m', payload: 42 }])
  // @ts-expect-error a kind without a payload takes none
  await sets.set(digest, 'k', { in: '5m', payload: 42 })
  // @ts-expect-error 'c' is no letter
  await timers.set(letter, 'k', { in: '5m', payload: 'c' })
  // @ts-expect-error 'c' is no letter
  await timers.setMany(letter, [{ in: '5m', payload: 'c' }])
  // @ts-expect-error 'c' is no letter
  await sets.set(letter, 'k', { in: '5m', payload: 'c' })
  // @ts-expect-error 'c' is no letter
  await sets.setMany(letter, [{ in: '5m', payload: 'c' }])
  // @ts-expect-error the payload is missing
  await timers.set(letter, 'k', { in: '5m' })
  // @ts-expect-error n is missing
  await timers.set(maybe, 'k', { in: '5m', payload: {} })
}

export async function compilesTransforms(timers: Timers): Promise<void> {
  expectTypeOf(counted).toEqualTypeOf<TimerKind<number, string>>()
  expectTypeOf(undeclared).toEqualTypeOf<TimerKind<{ text: string }>>()
  const dated = timer('dated', { payload: foreign })
  expectTypeOf(dated).toEqualTypeOf<TimerKind<Date, `${number}-${number}`>>()
  await timers.set(dated, 'k', { in: '5m', payload: '2027-01' })
  // @ts-expect-error the schema takes a string and returns a Date
  await timers.set(dated, 'k', { in: '5m', payload: new Date(0) })
  await timers.set(counted, 'k', { in: '5m', payload: '42' })
  await timers.setMany(counted, [{ in: '5m', payload: '42' }])
  // @ts-expect-error the schema takes a string and returns a number
  await timers.set(counted, 'k', { in: '5m', payload: 42 })
  // @ts-expect-error the schema takes a string and returns a number
  await timers.setMany(counted, [{ in: '5m', payload: 42 }])
  timers.handle(counted, (firing) => expectTypeOf(firing).toEqualTypeOf<TimerFiring<number>>())
  timers.handleMany(counted, (firings) => expectTypeOf(firings[0]!.payload).toEqualTypeOf<number>())
  // The store keeps what was set. Only a handler gets the result of the schema.
  expectTypeOf((await timers.get(counted, 'k'))!.payload).toEqualTypeOf<string>()
  expectTypeOf((await timers.lease(counted))[0]!.payload).toEqualTypeOf<string>()
  expectTypeOf((await timers.lease([counted, letter]))[0]!.payload).toEqualTypeOf<string>()
  expectTypeOf((await timers.lease('counted'))[0]!.payload).toEqualTypeOf<unknown>()
}

export function compilesKinds(): void {
  const any: readonly AnyKind[] = [digest, letter, maybe, counted, 'name']
  expectTypeOf(any[0]).toEqualTypeOf<AnyKind | undefined>()
  // @ts-expect-error one could set 'c' through it
  const wider: TimerKind<string> = letter
  // @ts-expect-error the schema returns a number
  timer<string>('wrong', { payload: digits })
  expectTypeOf(wider.name).toEqualTypeOf<string>()
}

export async function compilesKeys(
  timers: Timers,
  sets: TransactionTimers,
  client: Client,
  user: { readonly id: string } | undefined,
): Promise<void> {
  await timers.set(digest, { in: '5m' })
  await sets.set(digest, { in: '5m' })
  await client.set(digest, { in: '5m' })
  await timers.setMany(digest, [{ in: '5m' }, { key: 'k', in: '5m' }])
  // @ts-expect-error the key may be undefined
  await timers.set(digest, user?.id, { in: '5m' })
  // @ts-expect-error the key may be undefined
  await sets.set(digest, user?.id, { in: '5m' })
  // @ts-expect-error the key may be undefined
  await client.set(digest, user?.id, { in: '5m' })
  // @ts-expect-error the key may be undefined
  await timers.setMany(digest, [{ key: user?.id, in: '5m' }])
  // @ts-expect-error the key may be undefined
  await client.setMany(digest, [{ key: user?.id, in: '5m' }])
  // @ts-expect-error the key is an argument of its own
  await timers.set(digest, { key: 'k', in: '5m' })
  // @ts-expect-error a key without options
  await timers.set(digest, 'k')
}

export async function compilesStores(text: string): Promise<void> {
  expectTypeOf(await openTimers({ store: 'memory:' })).toEqualTypeOf<Timers>()
  expectTypeOf(await openTimers({ store: 'file:./timers' })).toEqualTypeOf<Timers>()
  expectTypeOf(await openTimers({ store: `postgres://${text}` })).toEqualTypeOf<Timers>()
  expectTypeOf(await openTimers({ store: text as StoreUrl, history: 'all' })).toEqualTypeOf<Timers>()
  expectTypeOf(await openTimers({ store: await openStore(text) })).toEqualTypeOf<Timers>()
  const remote = await openTimers({ store: `https://${text}` })
  expectTypeOf(remote).toEqualTypeOf<RemoteTimers>()
  expectTypeOf(await remote.within('other')).toEqualTypeOf<RemoteTimers>()
  // @ts-expect-error a server cannot join a transaction of this process
  remote.using({})
  // @ts-expect-error the engine is in the server
  expect(remote.engine).toBeDefined()
  // @ts-expect-error the server has the statistics
  await remote.stats()
  // @ts-expect-error a server leases timers by kind
  remote.handleOthers(() => undefined)
  // @ts-expect-error the server delivers
  remote.deliver(digest, { type: 'log' })

  // A URL that is only known at run time: everything that both have, and the rest after a look at what it is.
  const timers = await openTimers({ store: text })
  timers.handle(letter, ({ payload }) => expectTypeOf(payload).toEqualTypeOf<'a' | 'b'>())
  timers.handleMany(letter, (firings) => expectTypeOf(firings[0]!.payload).toEqualTypeOf<'a' | 'b'>())
  await timers.set(letter, 'k', { in: '5m', payload: 'a' })
  // @ts-expect-error 'c' is no letter
  await timers.set(letter, 'k', { in: '5m', payload: 'c' })
  await timers.setMany(letter, [{ in: '5m', payload: 'a' }])
  expectTypeOf((await timers.get(letter, 'k'))!.payload).toEqualTypeOf<'a' | 'b'>()
  await timers.cancel(letter, 'k')
  await (await timers.within('other')).start()
  await timers.stop()
  // @ts-expect-error it may be on a server
  timers.using({})
  // @ts-expect-error it may be on a server
  await timers.stats()
  if (timers instanceof Timers) await timers.stats()
}

describe('a key', () => {
  it('is generated when it is left out', async () => {
    await using timers = await openTimers({ store: 'memory:' })
    const one = await timers.set(digest, { in: '5m' })
    const [other] = await timers.setMany(digest, [{ in: '5m' }])
    expect(one.key).toMatch(/^\S{6,}$/)
    expect(other!.key).not.toBe(one.key)
    expect(await timers.get(digest, one.key)).toMatchObject({ key: one.key })
  })

  it.each([undefined, null])('is refused when it is %s', async (key) => {
    await using timers = await openTimers({ store: 'memory:' })
    const given = key as unknown as string
    const refused = { name: 'InvalidInputError', code: 'invalid-key' }
    await expect(timers.set(digest, given, { in: '5m' })).rejects.toMatchObject(refused)
    await expect(timers.setMany(digest, [{ key: given, in: '5m' }])).rejects.toMatchObject(refused)
    const many = Array.from({ length: 100 }, () => ({ key: given, in: '5m' }) as const)
    await expect(timers.setMany(digest, many)).rejects.toMatchObject(refused)
    const client = new Client('http://127.0.0.1:1')
    await expect(client.set(digest, given, { in: '5m' })).rejects.toMatchObject(refused)
    await expect(client.setMany(digest, [{ key: given, in: '5m' }])).rejects.toMatchObject(refused)
    expect((await timers.list()).items).toEqual([])
  })

  it('is refused among the options, where it would be ignored', async () => {
    await using timers = await openTimers({ store: 'memory:' })
    const options = { key: 'k', in: '5m' } as const
    await expect(timers.set(digest, options)).rejects.toMatchObject({ code: 'invalid-option' })
    expect((await timers.list()).items).toEqual([])
  })
})

describe('a schema with a transform', () => {
  it('takes its input from `set`, keeps it, and gives its output to the handler', async () => {
    await using timers = await openTimers({ store: 'memory:' })
    await timers.set(counted, 'k', { in: '1h', payload: '42' })
    expect((await timers.get(counted, 'k'))?.payload).toBe('42')
    const got = new Promise((resolve) => timers.handle(counted, ({ payload }) => resolve(payload)))
    await timers.start()
    await timers.fireNow(counted, 'k')
    expect(await got).toBe(42)
  })
})
