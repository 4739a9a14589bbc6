import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SHARDS, startPair } from './server-pair.js'
import { TestServer } from './test-server.js'

let served: TestServer

beforeAll(async () => {
  served = await TestServer.start()
})

afterAll(async () => {
  await served.server.stop()
})

describe('a batch', () => {
  it('has one answer per row, and a bad row does not affect the others', async () => {
    await served.call('PUT', '/v1/timers/remind/there', { in: '1h' })
    const { body, status } = await served.call('POST', '/v1/batch', [
      { kind: 'remind', key: 'a', in: '1h' },
      { kind: 'other', key: 'a', in: '1h', payload: [1] },
      { kind: 'remind', in: '1 parsec' },
      { kind: 'remind', key: 'there', in: '1h', ifAbsent: true },
      { do: 'move', kind: 'remind', key: 'a', in: '2h' },
      { do: 'cancel', kind: 'remind', key: 'a' },
      { do: 'cancel', kind: 'remind', key: 'a' },
      { kind: 'remind', key: 'a', in: '3h' },
      'nonsense',
      { kind: 'remind', nonsense: 1 },
      { do: 'move', kind: 'remind', in: '2h' },
      { kind: 'sched', on: '61 * * * *' },
    ])
    expect(status).toBe(200)
    expect(body.map(({ outcome, code }: { outcome: string; code?: string }) => code ?? outcome)).toEqual([
      'set',
      'set',
      'invalid-duration',
      'conflict',
      'moved',
      'cancelled',
      'unknown',
      'set',
      'invalid-body',
      'invalid-body',
      'invalid-key',
      'invalid-cron',
    ])
    expect((await served.call('GET', '/v1/timers/remind/a')).body.dueAt).toBe(body[7].dueAt)
  })

  it('moves and cancels timers by handle, and never a later timer with the same key', async () => {
    const handleOf = async (headers = {}): Promise<string> =>
      (await served.call('PUT', '/v1/timers/handled/a', { in: '1h' }, headers)).body.handle as string
    const old = await handleOf()
    const current = await handleOf()
    const elsewhere = await handleOf({ 'carillon-namespace': 'other' })
    const { body } = await served.call('POST', '/v1/batch', [
      { do: 'cancel', handle: old },
      { do: 'move', handle: current, in: '2h' },
      { do: 'move', handle: current, in: '2h', ifRevision: 0 },
      { do: 'move', handle: current },
      { do: 'cancel', handle: elsewhere },
      { do: 'cancel', handle: 'x' },
      { do: 'cancel', handle: current, kind: 'handled', key: 'a' },
      { do: 'cancel', key: 'a' },
      { handle: current, in: '1h' },
      { in: '1h' },
      { do: 'cancel', kind: 'never-seen', key: 'a' },
      { do: 'cancel', handle: current },
    ])
    expect(body.map(({ outcome, code }: { outcome: string; code?: string }) => code ?? outcome)).toEqual([
      'unknown',
      'moved',
      'conflict',
      'invalid-when',
      'invalid-handle',
      'invalid-handle',
      'invalid-key',
      'invalid-key',
      'invalid-body',
      'invalid-body',
      'unknown-kind',
      'cancelled',
    ])
    expect(body[1]).toEqual({ outcome: 'moved', kind: 'handled', key: 'a' })
  })

  it('brings its cancels to another instance in one message for each shard', async () => {
    await using two = await startPair()
    const keys = await Promise.all(Array.from({ length: 200 }, () => two.setFar()))
    const before = await two.forwards('answered')
    const rows = keys.map((key) => ({ do: 'cancel', kind: 'remind', key }))
    const { body } = await two.other.call('POST', '/v1/batch', rows)
    expect(body.map(({ outcome }: { outcome: string }) => outcome)).toEqual(keys.map(() => 'cancelled'))
    expect((await two.forwards('answered')) - before).toBeLessThanOrEqual(SHARDS)
  })

  it('is refused if it is not an array or has more than 5,000 rows', async () => {
    expect((await served.call('POST', '/v1/batch', { kind: 'a' })).status).toBe(400)
    const rows = Array.from({ length: 5001 }, () => ({ kind: 'a', in: 1 }))
    expect((await served.call('POST', '/v1/batch', rows)).status).toBe(400)
    expect((await served.call('POST', '/v1/batch', [])).body).toEqual([])
  })

  it('can be a stream of lines with one answer per line, across chunk borders', async () => {
    const rows = Array.from({ length: 2500 }, (_, n) =>
      JSON.stringify({ kind: 'line', key: `ü${n}`, in: '1h' }),
    )
    rows.splice(1000, 0, 'nonsense', '')
    const { text, headers } = await served.call('POST', '/v1/batch', rows.join('\n'), {
      'content-type': 'application/x-ndjson',
    })
    expect(headers.get('content-type')).toBe('application/x-ndjson')
    const answers = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { outcome: string; key?: string })
    expect(answers).toHaveLength(2501)
    expect(answers[1000]!.outcome).toBe('refused')
    expect(answers.at(-1)).toMatchObject({ outcome: 'set', key: 'ü2499' })
    expect((await served.call('GET', '/v1/timers?kind=line&limit=1000')).body.items).toHaveLength(1000)
  })

  it('stops reading lines while the sender does not read the answers', async () => {
    const { hostname, port } = new URL(served.url)
    const socket = connect(Number(port), hostname)
    socket.pause()
    socket.write(
      `POST /v1/batch HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${served.token}\r\n` +
        'content-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n',
    )
    const line = `${JSON.stringify({ kind: 'flood', in: '1h', payload: 'x'.repeat(200) })}\n`
    const chunk = line.repeat(100)
    const framed = `${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`
    let sent = 0
    // Nobody reads the answers, so the server stops reading, and unsent data piles up in this socket.
    while (socket.writableLength < 1_000_000 && sent < 4000) {
      socket.write(framed)
      sent++
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    expect(socket.writableLength).toBeGreaterThanOrEqual(1_000_000)
    expect((await served.call('GET', '/healthz')).status).toBe(200)
    socket.destroy()
  })
})
