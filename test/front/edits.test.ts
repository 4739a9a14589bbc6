import { describe, expect, it } from 'vitest'
import { type StandardSchema, timer } from '../../src/front/index.js'
import { every } from '../../src/schedule/index.js'
import { testTimers } from '../../src/testing/index.js'
import { TestServer } from '../server/test-server.js'

const mail = timer<{ n: number }>('mail')

describe('an edit', () => {
  it('changes the payload or the tags, and keeps the due time, the schedule and the pause', async () => {
    await using timers = await testTimers()
    await timers.set(mail, 'a', { on: every('1h'), payload: { n: 1 }, tags: ['old'], retry: { attempts: 3 } })
    const before = await timers.get(mail, 'a')
    const edited = await timers.edit(mail, 'a', { payload: { n: 2 } })
    expect(edited).toMatchObject({ outcome: 'edited', dueAt: before!.dueAt })
    const after = await timers.get(mail, 'a')
    expect(after).toEqual({
      ...before,
      payload: { n: 2 },
      handle: after!.handle,
      revision: after!.revision,
    })
    expect(after!.handle).not.toEqual(before!.handle)
    await timers.pause(mail, 'a', { note: 'asked for' })
    expect(await timers.edit(mail, 'a', { tags: ['new'] })).toMatchObject({ dueAt: before!.dueAt })
    expect(await timers.get(mail, 'a')).toMatchObject({
      state: 'paused',
      tags: ['new'],
      payload: { n: 2 },
      pause: { note: 'asked for' },
    })
    await timers.resume(mail, 'a')
    let fired: unknown
    timers.handle(mail, (firing) => void (fired = firing.payload))
    await timers.advance('2h')
    expect(fired).toEqual({ n: 2 })
    expect((await timers.get(mail, 'a'))?.occurrence).toBeGreaterThan(0)
  })

  it('leaves alone what is nearly due, unknown, or at another revision', async () => {
    await using timers = await testTimers()
    await timers.set(mail, 'soon', { in: '4s', payload: { n: 1 } })
    await timers.set(mail, 'later', { in: '1h', payload: { n: 1 } })
    expect(await timers.edit(mail, 'soon', { tags: ['x'] })).toEqual({ outcome: 'firing' })
    expect(await timers.edit(mail, 'none', { tags: ['x'] })).toEqual({ outcome: 'unknown' })
    const revision = (await timers.get(mail, 'later'))!.revision
    const wrong = { ifRevision: revision + 1 }
    expect(await timers.edit(mail, 'later', { tags: ['x'] }, wrong)).toEqual({ outcome: 'conflict' })
    expect((await timers.edit(mail, 'later', { tags: ['x'] }, { ifRevision: revision })).outcome).toBe(
      'edited',
    )
    await expect(timers.edit(mail, 'later', {})).rejects.toThrow('payload or tags')
    await expect(timers.edit(mail, 'later', { tags: [''] })).rejects.toMatchObject({ code: 'invalid-tag' })
  })

  it('obeys the quota and the schema of the payload, as a set does', async () => {
    await using timers = await testTimers()
    const short = timer('short', { payload: shorterThan(91) })
    await timers.setQuota({ maxBytes: 100 })
    await timers.set(short, 'a', { in: '1h', payload: 'x'.repeat(50) })
    await timers.set(short, 'b', { in: '1h', payload: 'x'.repeat(20) })
    await expect(timers.edit(short, 'b', { payload: 'x'.repeat(80) })).rejects.toMatchObject({
      code: 'quota-exceeded',
    })
    expect((await timers.edit(short, 'b', { payload: 'x'.repeat(25) })).outcome).toBe('edited')
    expect((await timers.edit(short, 'b', { tags: ['x'] })).outcome).toBe('edited')
    await timers.setQuota(undefined)
    await expect(timers.edit(short, 'b', { payload: 'x'.repeat(91) })).rejects.toMatchObject({
      code: 'payload-refused',
    })
    expect((await timers.get(short, 'b'))?.payload).toBe('x'.repeat(25))
  })

  it('goes over HTTP with If-Match', async () => {
    await using served = await TestServer.start({ auth: false })
    const path = '/v1/timers/mail/a'
    const { body: set } = await served.call('PUT', path, { in: '1h', payload: 1 })
    const changed = await served.call(
      'PATCH',
      path,
      { payload: { n: 2 }, tags: ['x'] },
      { 'if-match': `"${set.revision}"` },
    )
    expect([changed.status, changed.body.outcome, changed.body.dueAt]).toEqual([200, 'edited', set.dueAt])
    const late = await served.call('PATCH', path, { tags: [] }, { 'if-match': `"${set.revision}"` })
    expect([late.status, late.body.code]).toEqual([412, 'revision-conflict'])
    expect((await served.call('GET', path)).body).toMatchObject({ payload: { n: 2 }, tags: ['x'] })
    expect((await served.call('PATCH', path, {})).status).toBe(400)
    expect((await served.call('PATCH', '/v1/timers/mail/none', { tags: [] })).status).toBe(404)
  })
})

function shorterThan(length: number): StandardSchema<string> {
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) =>
        typeof value === 'string' && value.length < length
          ? { value }
          : { issues: [{ message: 'must be shorter' }] },
    },
  }
}
