import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../eventually.js'
import { TestServer } from '../server/test-server.js'
import { type CliResult, runCli } from './run-cli.js'

let served: TestServer

beforeAll(async () => {
  served = await TestServer.start({ history: 'all' })
})

afterAll(async () => {
  await served.server.stop()
})

function run(
  words: readonly string[],
  more: { input?: readonly string[]; isInteractive?: boolean } = {},
): Promise<CliResult> {
  return runCli(words, { ...more, env: { CARILLON_URL: served.url, CARILLON_KEY: served.token } })
}

function linesOf({ out }: CliResult): string[] {
  return out.trimEnd().split('\n')
}

describe('commands for operators', () => {
  it('set, show and remove targets, and never show a secret', async () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    const target = { type: 'webhook', url: 'https://example.org/hook', secret }
    const set = await run(['targets', 'set', 'bell', JSON.stringify(target)])
    expect([set.code, set.out]).toEqual([
      0,
      expect.stringContaining('bell  webhook https://example.org/hook'),
    ])
    const listed = await run(['targets'])
    expect(linesOf(listed).map((line) => line.split(' ')[0])).toEqual(['bell', 'hello'])
    expect(set.out + listed.out).not.toContain(secret)
    expect(JSON.parse((await run(['targets', 'get', 'bell', '--json'])).out)).toMatchObject({ kind: 'bell' })
    expect((await run(['targets', 'remove', 'bell'])).out).toBe('removed\n')
    expect((await run(['targets', 'get', 'bell'])).code).toBe(3)
    for (const words of [['set', 'bell'], ['burn'], ['set', 'bell', '{'], ['list', 'bell']])
      expect([words, (await run(['targets', ...words])).code]).toEqual([words, 2])
  })

  it('list kinds with their targets and pauses', async () => {
    await run(['set', 'remind', 'a', '--in', '1h'])
    await run(['pause', 'remind'])
    expect((await run(['pauses'])).out).toBe('remind\n')
    const kinds = linesOf(await run(['kinds', '--json'])).map((line) => JSON.parse(line) as object)
    expect(kinds).toContainEqual({ kind: 'remind', isPaused: true })
    expect((await run(['kinds'])).out).toMatch(/^remind {2}no target: .*, paused$/m)
    await run(['resume', 'remind'])
    expect((await run(['pauses'])).out).toBe('nothing is paused\n')
  })

  it('show the history, members, shards and namespaces', async () => {
    await run(['set', 'remind', 'h', '--in', '1h'])
    await run(['cancel', 'remind', 'h'])
    const history = await run(['history', 'remind', 'h'])
    expect(linesOf(history).map((line) => line.split('  ')[1])).toEqual(['created', 'cancelled'])
    await eventually(async () =>
      expect((await run(['members'])).out).toMatch(/ [1-9]\d* shards, answers this call\n/),
    )
    expect(linesOf(await run(['shards']))[0]).toMatch(/^0 {2}\S+ until \d{4}-.* epoch \d+, settled until /)
    await runCli(['set', 'remind', 'x', '--in', '1h', '--namespace', 'shop'], {
      env: { CARILLON_URL: served.url, CARILLON_KEY: served.token },
    })
    expect((await run(['namespaces'])).out).toMatch(/^default {2}\d+ kinds\nshop {2}1 kinds\n$/)
  })

  it('watch events, and end after the number that was asked for', async () => {
    const watching = run(['events', '--type', 'settled,fired', '--count', '1', '--json'])
    await eventually(async () => {
      await run(['set', 'hello', 'watched', '--in', '0s'])
      const first = await Promise.race([watching, run(['pauses'])])
      expect(first).toBe(await watching)
    })
    expect(JSON.parse((await watching).out)).toMatchObject({ kind: 'hello', key: 'watched' })
  })

  it('show who changed what in the audit log', async () => {
    await run(['pause', 'remind'])
    await run(['resume', 'remind'])
    const [newest, before] = linesOf(await run(['audit', '--limit', '2']))
    const id = /^ck_([0-9a-f]+)_/.exec(served.token)![1]!
    expect(newest).toMatch(
      new RegExp(`resume {2}"remind" {2}namespace "default" {2}by ${id} \\(first\\) from 127`),
    )
    expect(before).toContain('pause  "remind"')
    expect((await run(['audit', '--by', '0123456789ab'])).out).toBe('')
  })
})

describe('changes by a filter', () => {
  it('count first, and change nothing until somebody says yes', async () => {
    for (const key of ['a1', 'a2', 'b1']) await run(['set', 'bulk', key, '--in', '1h', '--tags', 'vip'])
    expect((await run(['cancel', '--kind', 'bulk', '--dry-run'])).out).toBe('3 timers match\n')
    const unasked = await run(['cancel', '--kind', 'bulk'])
    expect([unasked.code, unasked.err]).toEqual([
      2,
      'carillon: 3 timers match: pass --yes to cancel them (invalid-option)\n',
    ])
    const no = await run(['cancel', '--kind', 'bulk'], { isInteractive: true, input: ['n'] })
    expect([no.code, no.err]).toEqual([1, '3 timers match. Really cancel them? [y/N] nothing was changed\n'])
    expect(linesOf(await run(['list', '--kind', 'bulk']))).toHaveLength(3)
    const yes = await run(['cancel', '--kind', 'bulk', '--key-prefix', 'a'], {
      isInteractive: true,
      input: ['yes'],
    })
    expect([yes.code, yes.out]).toEqual([0, '2 cancelled\n'])
    expect((await run(['move', '--tag', 'vip', '--in', '2h', '--yes'])).out).toBe('1 moved\n')
    expect((await run(['list', '--kind', 'bulk'])).out).toContain('bulk b1')
    expect((await run(['cancel', '--tag', 'nobody', '--yes'])).out).toBe('0 timers match\n')
  })

  it('refuse a filter together with a key, a lone --yes, and no filter at all', async () => {
    for (const words of [
      ['cancel'],
      ['cancel', '--yes'],
      ['cancel', 'bulk'],
      ['cancel', 'bulk', 'b1', '--tag', 'vip'],
      ['cancel', 'bulk', 'b1', '--yes'],
      ['fire', '--kind', 'bulk', '--if-revision', '1'],
    ])
      expect([words, (await run(words)).code]).toEqual([words, 2])
    const all = await served.call('POST', '/v1/bulk/cancel', { filter: {} })
    expect([all.status, all.body.code]).toEqual([400, 'invalid-body'])
  })

  it('discard dead letters by id, and by kind after a question', async () => {
    await served.call('PUT', '/v1/targets/doomed', { type: 'lease', retry: { attempts: 1 } })
    for (const key of ['d1', 'd2', 'd3']) await run(['set', 'doomed', key, '--in', '0s'])
    let left = 3
    while (left > 0) {
      const { body } = await served.call('POST', '/v1/leases', { kinds: ['doomed'], waitMs: 2000 })
      for (const { receipt } of body.firings as { receipt: string }[]) {
        await served.call('POST', `/v1/leases/${receipt}/release`, { dead: true, reason: 'test' })
        left--
      }
    }
    await eventually(async () => expect(linesOf(await run(['dead', '--kind', 'doomed']))).toHaveLength(3))
    const [first] = linesOf(await run(['dead', '--kind', 'doomed']))
    expect((await run(['discard', first!.split(' ')[0]!])).out).toBe('1 discarded\n')
    expect((await run(['discard', '--kind', 'doomed'])).code).toBe(2)
    expect((await run(['discard', '--kind', 'doomed', '--yes'])).out).toBe('2 discarded\n')
    expect((await run(['dead', '--kind', 'doomed'])).out).toBe('')
    for (const words of [[], ['x', '--all'], ['--key', 'k']])
      expect([words, (await run(['discard', ...words])).code]).toEqual([words, 2])
  })
})
