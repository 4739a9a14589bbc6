import { batch, effect, signal, untracked } from '@preact/signals'
import type { LiveEvent } from '../api/types.ts'
import { isVisible, later, now } from './clock.ts'
import { api, session } from './session.ts'

/** The live events. The page listens only while it is seen, and tells views that something has changed. */
export type FeedState = 'off' | 'connecting' | 'live'

export interface SeenEvent extends LiveEvent {
  readonly number: number
  readonly receivedAt: number
}

export const feedState = signal<FeedState>('off')
/** Rises whenever something has changed on the server. */
export const changes = signal(0)
/** The last events, newest first. */
export const events = signal<readonly SeenEvent[]>([])
/** While true, events do not move the list. They are counted. */
export const isFeedPaused = signal(false)
export const heldBack = signal(0)

const MAX_EVENTS = 200
const MAX_PAUSE_MS = 15_000
/** Events come in bursts. The list is updated this often. */
const SHOW_MS = 250

let lastId: string | undefined
let number = 0
let waiting: SeenEvent[] = []

/** Follows the stream for as long as the page is signed in and visible. */
export function startFeed(): void {
  effect(() => {
    const isOn = isVisible.value && session.value.state === 'in'
    const current = api.value
    if (!isOn) {
      feedState.value = 'off'
      return
    }
    const controller = new AbortController()
    untracked(() => void follow(current, controller.signal))
    return () => controller.abort()
  })
}

/** Says that something has changed here, so that views load again. */
export function noticeChange(): void {
  changes.value++
}

async function follow(current: typeof api.value, abort: AbortSignal): Promise<void> {
  let failures = 0
  while (!abort.aborted) {
    feedState.value = 'connecting'
    try {
      const response = await current.events(lastId === undefined ? {} : { 'last-event-id': lastId }, abort)
      if (response.ok && response.body !== null) {
        failures = 0
        feedState.value = 'live'
        // Whatever happened before the connection was there.
        noticeChange()
        await read(response.body)
      } else if (response.status === 401 || response.status === 403) {
        return
      }
    } catch {
      // The connection was lost, or the page no longer needs it.
    }
    if (abort.aborted) return
    feedState.value = 'connecting'
    const waitMs = Math.min(MAX_PAUSE_MS, 500 * 2 ** failures++)
    await new Promise<void>((resolve) => {
      const cancel = later(waitMs, resolve)
      abort.addEventListener('abort', () => (cancel(), resolve()))
    })
  }
}

async function read(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as never)
    .getReader() as ReadableStreamDefaultReader<string>
  let text = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    text += value
    const parts = text.split('\n\n')
    text = parts.pop() ?? ''
    for (const part of parts) receive(part)
  }
}

function receive(part: string): void {
  const fields = new Map(
    part.split('\n').map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')] as const
    }),
  )
  const data = fields.get('data')
  if (data === undefined) return
  lastId = fields.get('id') ?? lastId
  const event = { type: fields.get('event') ?? 'message', ...(JSON.parse(data) as object) }
  if (waiting.length === 0) later(SHOW_MS, show)
  waiting.push({ ...event, number: ++number, receivedAt: Date.now() })
  if (waiting.length > 2 * MAX_EVENTS) waiting = waiting.slice(-MAX_EVENTS)
}

function show(): void {
  const arrived = waiting
  waiting = []
  batch(() => {
    now.value = Date.now()
    if (isFeedPaused.value) heldBack.value += arrived.length
    else events.value = [...arrived.toReversed(), ...events.value].slice(0, MAX_EVENTS)
    // The engine reports its own work every second. Only events of timers change what views show.
    if (arrived.some(({ kind, type }) => kind !== undefined || type === 'acquired' || type === 'released'))
      noticeChange()
  })
}
