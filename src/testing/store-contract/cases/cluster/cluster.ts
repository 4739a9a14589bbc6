import assert from 'node:assert/strict'
import type { Suite } from '../../suite.js'

/** What instances share through the store: members, settings, wake-ups. */
export function describeCluster(suite: Suite): void {
  suite.case('members are shown until their heartbeat is over or they are removed', async (world) => {
    const { store, clock } = world
    const a = { id: 'a', details: 'http://a' }
    const b = { id: 'b', details: '{"version":1}' }
    const first = await store.heartbeat(a, 5000)
    assert.deepEqual(first, { now: world.now(), members: [a] })
    await clock.advance(3000)
    const ids = async () => (await store.heartbeat(b, 5000)).members.map((member) => member.id).toSorted()
    assert.deepEqual(await ids(), ['a', 'b'])
    await clock.advance(1999)
    assert.deepEqual(await ids(), ['a', 'b'])
    await clock.advance(2)
    assert.deepEqual(await ids(), ['b'])
    const back = { ...a, details: 'http://new' }
    const { members } = await store.heartbeat(back, 5000)
    assert.deepEqual(
      members.toSorted((x, y) => x.id.localeCompare(y.id)),
      [back, b],
    )
    await store.removeMember('a')
    await store.removeMember('nobody')
    assert.deepEqual(await ids(), ['b'])
  })

  suite.case('a heartbeat that was sent while the clock was ahead ends soon', async (world) => {
    const { store, clock } = world
    const ids = async () =>
      (await store.heartbeat({ id: 'b', details: '' }, 5000)).members.map(({ id }) => id).toSorted()
    clock.jump(3_600_000)
    await store.heartbeat({ id: 'a', details: 'http://a' }, 5000)
    clock.jump(-3_600_000)
    assert.deepEqual(await ids(), ['a', 'b'])
    await clock.advance(4000)
    assert.deepEqual(await ids(), ['a', 'b'], 'it lasts until its next heartbeat')
    await clock.advance(1001)
    assert.deepEqual(await ids(), ['b'])
  })

  suite.case('a setting with ifVersion is stored only at that version', async ({ store }) => {
    assert.equal(await store.putSetting('pause/mail', 'no', 7), undefined, 'it is absent, not at 7')
    const first = await store.putSetting('pause/mail', 'yes', 0)
    assert.ok(first !== undefined && first > 0)
    assert.equal(await store.putSetting('pause/mail', 'again', 0), undefined, 'it is not absent')
    const second = await store.putSetting('pause/mail', 'no', first)
    assert.ok(second !== undefined && second > first)
    assert.equal(await store.putSetting('pause/mail', 'late', first), undefined)
    assert.deepEqual(await store.settings('pause/'), [{ name: 'pause/mail', value: 'no', version: second }])
    const third = await store.putSetting('pause/mail', '')
    assert.deepEqual(await store.settings('pause/mail'), [{ name: 'pause/mail', value: '', version: third }])
    assert.equal(await store.putSetting('pause/mail', undefined, second), undefined, 'a late removal')
    assert.equal((await store.settings('')).length, 1)
    await store.putSetting('pause/mail', undefined, third)
    assert.deepEqual(await store.settings(''), [])
    const fourth = await store.putSetting('pause/mail', 'yes', 0)
    assert.ok(fourth !== undefined)
  })

  suite.case('a setting that is stored again after its removal has a new version', async ({ store }) => {
    const first = await store.putSetting('key', 'one')
    await store.putSetting('key', undefined)
    await store.putSetting('key', 'two')
    assert.equal(await store.putSetting('key', 'late', first), undefined)
  })

  suite.case('settings are found by an exact prefix of their name', async ({ store }) => {
    for (const name of ['a/1', 'a/2', 'A/3', 'a_x', 'a%', 'b', 'a/é']) await store.putSetting(name, name)
    const names = async (prefix: string) =>
      (await store.settings(prefix)).map((setting) => setting.name).toSorted()
    assert.deepEqual(await names('a/'), ['a/1', 'a/2', 'a/é'])
    assert.deepEqual(await names('a%'), ['a%'])
    assert.deepEqual(await names('a_'), ['a_x'])
    assert.deepEqual(await names('A'), ['A/3'])
    assert.deepEqual(await names('none'), [])
    assert.equal((await names('')).length, 7)
  })

  suite.case(
    'of many concurrent puts of a setting at one version exactly one succeeds',
    async ({ store }) => {
      const puts = Array.from({ length: 20 }, (_, i) => store.putSetting('key', String(i), 0))
      const versions = (await Promise.all(puts)).filter((version) => version !== undefined)
      assert.equal(versions.length, 1)
      assert.equal((await store.settings('key'))[0]?.version, versions[0])
    },
  )

  suite.case('a wake-up reaches every listener and none that was removed', async (world) => {
    const heard: number[] = []
    const unheard: number[] = []
    const stopListening = world.store.onWake((shard) => unheard.push(shard))
    stopListening()
    stopListening()
    world.store.onWake((shard) => heard.push(shard))
    const last = world.store.shardCount - 1
    // Single wake-ups may get lost, but not all of them. A store that has just connected wakes every shard.
    for (let i = 0; i < 200 && !heard.includes(last); i++) {
      world.store.wake(last)
      await world.clock.advance(50)
      await world.store.now()
    }
    assert.ok(heard.includes(last), `woke ${heard.join(', ')}, expected ${last}`)
    assert.deepEqual(unheard, [])
  })
}
