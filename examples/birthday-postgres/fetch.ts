// The same as a fetch handler for Vercel, Deno, Bun and Hono. PUT /birthdays sets a birthday. POST /drain makes one
// bounded pass; any scheduler can call it.
import process from 'node:process'
import type { TimersApi } from 'carillon'
import { openBirthdays, setBirthday, type User } from './birthdays.js'

let timers: Promise<TimersApi> | undefined

export default {
  async fetch(request: Request): Promise<Response> {
    timers ??= openBirthdays(process.env['DATABASE_URL'] ?? '', 'fetch')
    const { pathname } = new URL(request.url)
    if (request.method === 'PUT' && pathname === '/birthdays') {
      await setBirthday(await timers, (await request.json()) as User)
      return new Response(undefined, { status: 204 })
    }
    if (request.method !== 'POST' || pathname !== '/drain') return new Response('not found', { status: 404 })
    const drained = await (await timers).drain({ maxTime: '20s' })
    // The caller may call again at once if timers are left.
    return Response.json(drained, { status: drained.isCaughtUp ? 200 : 202 })
  },

  async stop(): Promise<void> {
    await (await timers)?.stop()
    timers = undefined
  },
}
