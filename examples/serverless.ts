// Serverless: nothing runs between two calls. A cron of the platform calls a function, which makes one bounded pass.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { type Drained, openTimers, timer, type TimersApi } from 'carillon'

const remind = timer<{ orderId: string }>('remind')
const folder = await mkdtemp(path.join(tmpdir(), 'carillon-serverless-'))
process.env['TIMER_STORE'] = `file:${folder}/timers`
const sent: string[] = []

// ---- the module that both functions share

let opened: Promise<TimersApi> | undefined

/** Opened once for each warm instance. It is never started: each call does its work and ends. */
function timersOfThisInstance(): Promise<TimersApi> {
  opened ??= openTimers({ store: process.env['TIMER_STORE']! }).then((timers) => {
    timers.handle(remind, ({ payload }) => void sent.push(payload.orderId))
    return timers
  })
  return opened
}

// ---- a route that sets a timer: POST /api/orders

async function order(request: Request): Promise<Response> {
  const { orderId } = (await request.json()) as { orderId: string }
  const timers = await timersOfThisInstance()
  await timers.set(remind, orderId, { in: 0, payload: { orderId } })
  return new Response(null, { status: 201 })
}

// ---- the route that the platform's cron calls: GET /api/cron/timers, once a minute

async function cron(request: Request): Promise<Response> {
  if (request.headers.get('authorization') !== `Bearer ${process.env['CRON_SECRET']}`)
    return new Response('not for you', { status: 401 })
  const timers = await timersOfThisInstance()
  // Less than the platform allows. What is left over is there for the next call.
  const drained: Drained = await timers.drain({ maxTime: '45s', maxTimers: 10_000 })
  return Response.json(drained)
}

// ---- as the platform would call them

process.env['CRON_SECRET'] = 'a secret of the platform'
for (const orderId of ['1', '2', '3'])
  await order(
    new Request('http://localhost/api/orders', { method: 'POST', body: JSON.stringify({ orderId }) }),
  )
const authorization = `Bearer ${process.env['CRON_SECRET']}`
const denied = await cron(new Request('http://localhost/api/cron/timers'))
const answer = await cron(new Request('http://localhost/api/cron/timers', { headers: { authorization } }))
console.log(`without the secret ${denied.status}, with it ${answer.status}: ${await answer.text()}`)
console.log(`${sent.toSorted().join()} sent`)
await (await timersOfThisInstance()).stop()
await rm(folder, { recursive: true })
