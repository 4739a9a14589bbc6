import { describe, expect, it } from 'vitest'
import { AuditLog } from '../../src/server/audit/audit-log.js'
import { auditLimits } from '../../src/server/defaults.js'
import { MemoryStore } from '../../src/store/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { downStore } from './failing-settings.js'
import { TestServer } from './test-server.js'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

interface Entry {
  readonly action: string
  readonly subject?: string
  readonly namespace?: string
  readonly details?: Record<string, unknown>
  readonly key: { readonly id: string; readonly name: string }
  readonly from: string
  readonly at: number
}

async function entriesOf(served: TestServer, query = '', headers = {}): Promise<Entry[]> {
  const { body } = await served.call('GET', `/v1/audit${query}`, undefined, headers)
  return (body as { items: Entry[] }).items
}

describe('the audit log', () => {
  it('has every change of an operator: who, what, when and from where', async () => {
    await using served = await TestServer.start()
    const keyId = /^ck_([0-9a-f]+)_/.exec(served.token)![1]!
    const before = Date.now()
    const shop = { 'carillon-namespace': 'shop' }
    const made = await served.call('POST', '/v1/keys', { name: 'billing', scope: 'write', namespace: 'shop' })
    const { id } = made.body.key as { id: string }
    await served.call('DELETE', `/v1/keys/${id}`)
    const target = { type: 'webhook', url: 'https://example.org/secret-path?token=x', secret }
    expect((await served.call('PUT', '/v1/targets/remind', target)).status).toBe(200)
    await served.call('DELETE', '/v1/targets/remind')
    await served.call('PUT', '/v1/timers/remind/a', { in: '1h' })
    await served.call('POST', '/v1/pause', { kind: 'remind' })
    await served.call('POST', '/v1/resume', { kind: 'remind' })
    await served.call('POST', '/v1/pause', {}, shop)
    await served.call('PUT', '/v1/quota', { maxTimers: 7 }, shop)
    await served.call('DELETE', '/v1/quota', undefined, shop)
    await served.call('POST', '/v1/dead/redrive', { all: true })
    await served.call('POST', '/v1/bulk/move', { filter: { kind: 'remind' }, in: '2h' })
    await served.call('POST', '/v1/bulk/cancel', { filter: { keyPrefix: 'a' } })
    const entries = (await entriesOf(served)).toReversed()
    expect(
      entries.map(({ action, subject, namespace, details }) => [action, subject, namespace, details]),
    ).toEqual([
      ['keys.create', id, 'shop', { name: 'billing', scope: 'write' }],
      ['keys.revoke', id, undefined, undefined],
      ['targets.set', 'remind', 'default', { type: 'webhook', origin: 'https://example.org' }],
      ['targets.remove', 'remind', 'default', undefined],
      ['pause', 'remind', 'default', undefined],
      ['resume', 'remind', 'default', undefined],
      ['pause', 'everything', 'shop', undefined],
      ['quota.set', undefined, 'shop', { maxTimers: 7 }],
      ['quota.remove', undefined, 'shop', undefined],
      ['dead.redrive', undefined, 'default', { count: 0 }],
      ['bulk.move', undefined, 'default', { kind: 'remind', found: 1 }],
      ['bulk.cancel', undefined, 'default', { keyPrefix: 'a', found: 1 }],
    ])
    for (const { key, from, at } of entries) {
      expect([key, from]).toEqual([{ id: keyId, name: 'first' }, '127.0.0.1'])
      expect(at).toBeGreaterThanOrEqual(before)
    }
  })

  it('covers every route that needs the scope admin and changes something', async () => {
    await using served = await TestServer.start()
    const unaudited = served.server.routes
      .filter(({ scope, method, audit }) => scope === 'admin' && method !== 'GET' && audit === undefined)
      .map(({ method, path }) => `${method} ${path}`)
    expect(unaudited).toEqual([])
  })

  it('leaves out what was refused, and repeats by an Idempotency-Key', async () => {
    await using served = await TestServer.start()
    await served.call('DELETE', '/v1/keys/0123456789ab')
    await served.call('POST', '/v1/pause', { kind: 'nobody' })
    await served.call('PUT', '/v1/quota', { maxTimers: -1 })
    expect(await entriesOf(served)).toEqual([])
    for (let n = 0; n < 3; n++) await served.call('POST', '/v1/pause', {}, { 'idempotency-key': 'once' })
    expect(await entriesOf(served)).toHaveLength(1)
  })

  it('shows a key of a namespace only what concerns that namespace, and needs the scope admin', async () => {
    await using served = await TestServer.start()
    const keyFor = async (scope: string, namespace: string): Promise<Record<string, string>> => {
      const { body } = await served.call('POST', '/v1/keys', { name: scope + namespace, scope, namespace })
      return { authorization: `Bearer ${(body as { token: string }).token}` }
    }
    const shop = await keyFor('admin', 'shop')
    const writer = await keyFor('write', 'shop')
    await keyFor('admin', 'other')
    await served.call('POST', '/v1/pause', {}, { 'carillon-namespace': 'other' })
    await served.call('POST', '/v1/pause', {}, shop)
    const seen = await entriesOf(served, '', shop)
    expect(seen.map(({ action, namespace }) => [action, namespace])).toEqual([
      ['pause', 'shop'],
      ['keys.create', 'shop'],
      ['keys.create', 'shop'],
    ])
    expect((await served.call('GET', '/v1/audit', undefined, writer)).status).toBe(403)
    expect((await served.call('GET', '/v1/audit')).body.items).toHaveLength(5)
  })

  it('finds entries by action, key and time, page by page', async () => {
    await using served = await TestServer.start()
    for (let n = 0; n < 5; n++) await served.call('POST', n % 2 === 0 ? '/v1/pause' : '/v1/resume', {})
    expect(await entriesOf(served, '?action=resume')).toHaveLength(2)
    expect(await entriesOf(served, '?key=0123456789ab')).toEqual([])
    expect(await entriesOf(served, '?until=2020-01-01T00:00:00Z')).toEqual([])
    expect(await entriesOf(served, '?from=2020-01-01T00:00:00Z')).toHaveLength(5)
    expect((await served.call('GET', '/v1/audit?from=yesterday')).status).toBe(400)
    const first = await served.call('GET', '/v1/audit?limit=3')
    const second = await served.call('GET', `/v1/audit?limit=3&cursor=${first.body.cursor}`)
    expect(first.body.items).toHaveLength(3)
    expect(second.body.items).toHaveLength(2)
    expect(second.body.cursor).toBeUndefined()
    const ids = [...first.body.items, ...second.body.items].map(({ id }: { id: string }) => id)
    expect(ids).toEqual(ids.toSorted((a, b) => (a < b ? 1 : -1)))
  })

  it('keeps a change that it cannot record, and says so in the log', async () => {
    const store = downStore(new MemoryStore(), 'audit/')
    const lines: string[] = []
    const logger = { error: (_: object, text: string) => lines.push(text), warn: () => 0, info: () => 0 }
    await using served = await TestServer.start({ store, logger: logger as never })
    expect((await served.call('POST', '/v1/pause', {})).body).toEqual({ outcome: 'paused' })
    expect((await served.call('GET', '/v1/pauses')).body.all).toBe(true)
    expect(lines).toEqual(['a change was made, but the audit log could not keep it'])
  })

  it('is limited by number, age and bytes, and no namespace pushes out the entries of another', async () => {
    const clock = new VirtualClock()
    const store = new MemoryStore({ clock })
    const log = new AuditLog(store, clock)
    const { maxEntriesOfNamespace, pruneEvery, maxAgeMs, maxBytes, maxTextLength } = auditLimits
    const record = (namespace: string, subject = 'x'): Promise<void> =>
      log.record({
        action: 'pause',
        outcome: 'done',
        subject,
        namespace,
        key: { id: 'k', name: 'n' },
        from: '::1',
      })
    await record('quiet')
    for (let n = 0; n < maxEntriesOfNamespace + 2 * pruneEvery; n++) await record('loud')
    const count = async (namespace: string): Promise<number> =>
      (await log.list({ namespace, limit: 10_000 })).items.length
    expect(await count('quiet')).toBe(1)
    expect(await count('loud')).toBeLessThanOrEqual(maxEntriesOfNamespace + pruneEvery)
    for (let n = 0; n < 4000; n++) await record(`many${n % 5}`, 'y'.repeat(100_000))
    const settings = await store.settings('audit/')
    const bytes = settings.reduce((sum, { name, value }) => sum + name.length + value.length, 0)
    expect(bytes).toBeLessThanOrEqual(maxBytes + pruneEvery * (3 * maxTextLength + 300))
    expect(settings.length).toBeLessThanOrEqual(auditLimits.maxEntries + pruneEvery)
    expect(await count('quiet')).toBe(1)
    await clock.advance(maxAgeMs + 1)
    await new AuditLog(store, clock).record({
      action: 'pause',
      outcome: 'done',
      key: { id: 'k', name: 'n' },
      from: '::1',
    })
    expect((await log.list({ limit: 10_000 })).items).toHaveLength(1)
  })
})
