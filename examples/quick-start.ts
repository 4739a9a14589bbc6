// Timers in a folder: set, move and cancel them by key. They fire at their time, and survive a restart.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openTimers, timer } from 'carillon'

const remind = timer<{ orderId: string }>('remind', { retry: { attempts: 8, backoff: '1s..10m' } })
const folder = await mkdtemp(path.join(tmpdir(), 'carillon-quick-start-'))

{
  await using timers = await openTimers({ store: `file:${folder}/timers` })
  await timers.set(remind, 'order:7', { in: '100ms', payload: { orderId: '7' } }) // same key again: replaced
  await timers.set(remind, 'order:8', { in: '200ms', payload: { orderId: '8' } })
  await timers.set(remind, 'order:9', { in: '5m', payload: { orderId: '9' } })
  console.log(`order:8 was ${await timers.cancel(remind, 'order:8')}`)
  console.log(`order:9 was ${await timers.move(remind, 'order:9', { in: '300ms' })}`)
}

// As after a restart: the timers are still there.
await using timers = await openTimers({ store: `file:${folder}/timers` })
await new Promise<void>((resolve) => {
  timers.handle(remind, (firing) => {
    console.log(`reminded of ${firing.key}, order ${firing.payload.orderId}, attempt ${firing.attempt}`)
    if (firing.key === 'order:9') resolve()
  })
  void timers.start()
})
await timers.stop()
await rm(folder, { recursive: true })
