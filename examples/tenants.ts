// Tenants: each has a namespace with its own names, handlers, pauses and quota, and all share one engine.
import { timer } from 'carillon'
import { testTimers } from 'carillon/testing'

const remind = timer<string>('remind')

await using timers = await testTimers()
const told: string[] = []
for (const tenant of ['acme', 'globex']) {
  const own = await timers.within(tenant)
  own.handle(remind, ({ key, payload }) => void told.push(`${tenant} ${key}: ${payload}`))
  // The same key in another namespace is another timer.
  await own.set(remind, 'invoice:1', { in: '1d', payload: `hello ${tenant}` })
}

const acme = await timers.within('acme')
await acme.setQuota({ maxTimers: 2 })
await acme.set(remind, 'invoice:2', { in: '2d', payload: 'the last one' })
try {
  await acme.set(remind, 'invoice:3', { in: '3d', payload: 'one too many' })
} catch (error) {
  console.log(`acme: ${(error as { code: string }).code}`)
}
// Globex does not pay: none of its timers fires until it is resumed, and no other tenant notices.
const globex = await timers.within('globex')
await globex.pause()
await timers.advance('3d')
console.log(told.join('; '))
await globex.resume()
await timers.advance('1s')
console.log(`${told.length} told, ${told.filter((text) => text.startsWith('acme')).length} of them acme's`)
