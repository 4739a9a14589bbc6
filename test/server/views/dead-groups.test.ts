import { describe, expect, it } from 'vitest'
import { groupReasonOf } from '../../../src/server/views/dead-reason.js'
import { DeadSurvey } from '../../../src/server/views/dead-survey.js'
import { eventually } from '../../eventually.js'
import { TestServer } from '../test-server.js'

describe('the reason of a group', () => {
  it.each([
    ['HTTP 503 after 12.5 ms', 'HTTP … after … ms'],
    ['no user "anna" in shop 7', 'no user … in shop …'],
    ['order 0f8fad5b-d9cb-469f-a165-70867728950e is gone', 'order … is gone'],
    ['the decade was bad', 'the decade was bad'],
    ['the facade is deaf', 'the facade is deaf'],
  ])('of %s leaves out what differs from letter to letter', (reason, wanted) => {
    expect(groupReasonOf(reason)).toBe(wanted)
  })
})

describe('a survey of dead letters', () => {
  it('groups them by kind and reason within a span, the largest group first', () => {
    const survey = new DeadSurvey()
    const letters = [
      ['mail', 'HTTP 500', 10],
      ['mail', 'HTTP 503', 25],
      ['mail', 'no such user', 12],
      ['sms', 'HTTP 500', 40],
    ] as const
    for (const [i, [kind, reason, at]] of letters.entries()) survey.add(String(i), kind, reason, at)
    const span = { fromInclusive: 10, untilExclusive: 40, sliceMs: 10 }
    expect(survey.groups(span)).toEqual([
      { kind: 'mail', reason: 'HTTP …', count: 2, firstAt: 10, lastAt: 25, sampleId: '1', slices: [1, 1, 0] },
      {
        kind: 'mail',
        reason: 'no such user',
        count: 1,
        firstAt: 12,
        lastAt: 12,
        sampleId: '2',
        slices: [1, 0, 0],
      },
    ])
    expect(survey.groups({ ...span, untilExclusive: 50, kind: 'sms' })).toHaveLength(1)
    expect([survey.total, survey.countOf('mail'), survey.firstAt]).toEqual([4, 3, 10])
  })
})

describe('GET /v1/dead/groups', () => {
  it('shows what died, and the overview counts it', async () => {
    await using served = await TestServer.start({ auth: false })
    await served.call('PUT', '/v1/targets/work', { type: 'lease', retry: { attempts: 1 } })
    for (let n = 0; n < 3; n++) await served.call('PUT', `/v1/timers/work/${n}`, { in: 0 })
    let released = 0
    while (released < 3) {
      const { firings } = (await served.call('POST', '/v1/leases', { kinds: ['work'], max: 3, waitMs: 200 }))
        .body
      for (const { receipt } of firings as { receipt: string }[]) {
        const reason = `no printer ${released++}`
        await served.call('POST', `/v1/leases/${receipt}/release`, { reason, dead: true })
      }
    }
    await eventually(async () => {
      const { body } = await served.call('GET', '/v1/dead/groups?kind=work&slices=2')
      expect(body).toMatchObject({ total: 3, isComplete: true })
      expect(body.groups).toHaveLength(1)
      expect(body.groups[0]).toMatchObject({
        kind: 'work',
        count: 3,
        reason: expect.stringContaining('no printer …'),
      })
      expect(body.groups[0].slices).toHaveLength(2)
      const { kinds } = (await served.call('GET', '/v1/overview')).body
      expect(kinds.find(({ kind }: { kind: string }) => kind === 'work').dead).toBe(3)
    })
    const { groups } = (await served.call('GET', '/v1/dead/groups')).body
    const reason = encodeURIComponent(groups[0].reason as string)
    for (const [query, count] of [
      [`reason=${reason}&limit=2`, 2],
      [`reason=${reason}&kind=work&diedFrom=${groups[0].firstAt}`, 3],
      [`diedUntil=${groups[0].firstAt}`, 0],
      ['reason=other', 0],
    ] as const)
      expect([query, (await served.call('GET', `/v1/dead?${query}`)).body.items.length]).toEqual([
        query,
        count,
      ])
    const elsewhere = await served.call('GET', '/v1/dead/groups', undefined, {
      'carillon-namespace': 'other',
    })
    expect(elsewhere.body.groups).toEqual([])
  })
})
