import assert from 'node:assert/strict'
import type { Suite } from '../../suite.js'

/** Messages between members. They may get lost, but they are never taken twice. */
export function describeMail(suite: Suite): void {
  suite.case('mail is taken once, by its member, in the order in which it was posted', async ({ store }) => {
    await store.post([
      { member: 'a', text: 'one' },
      { member: 'b', text: 'for b' },
      { member: 'a', text: 'two' },
    ])
    await store.post([{ member: 'a', text: 'three' }])
    await store.post([])
    assert.deepEqual(await store.takeMail('nobody', 10), [])
    assert.deepEqual(await store.takeMail('a', 2), ['one', 'two'])
    assert.deepEqual(await store.takeMail('a', 2), ['three'])
    assert.deepEqual(await store.takeMail('a', 2), [])
    assert.deepEqual(await store.takeMail('b', 10), ['for b'])
  })

  suite.case('a message may contain any character', async ({ store }) => {
    const text = `{"key":"é𝄞 \\" ' \\n % _ @"}`
    await store.post([{ member: 'a b/é@', text }])
    assert.deepEqual(await store.takeMail('a b/é@', 10), [text])
  })

  suite.case('of many concurrent calls each message goes to one', async ({ store }) => {
    const texts = Array.from({ length: 60 }, (_, index) => `message ${index}`)
    await store.post(texts.map((text) => ({ member: 'a', text })))
    const taken = await Promise.all(Array.from({ length: 20 }, () => store.takeMail('a', 5)))
    const rest = await store.takeMail('a', 100)
    assert.deepEqual([...taken.flat(), ...rest].toSorted(), texts.toSorted())
  })

  suite.case('a member that is removed loses its mail', async ({ store }) => {
    await store.post([{ member: 'a', text: 'late' }])
    await store.removeMember('a')
    assert.deepEqual(await store.takeMail('a', 10), [])
  })

  suite.case('mail wakes every listener and none that was removed', async ({ store, clock }) => {
    const heard: string[] = []
    const unheard: string[] = []
    const stopListening = store.onMail((member) => unheard.push(member))
    stopListening()
    stopListening()
    store.onMail((member) => heard.push(member))
    // Single wake-ups may get lost, but not all of them.
    for (let i = 0; i < 200 && heard.length === 0; i++) {
      await store.post([{ member: 'the member', text: 'hello' }])
      await clock.advance(50)
      await store.now()
    }
    assert.equal(heard[0], 'the member')
    assert.deepEqual(unheard, [])
  })
}
