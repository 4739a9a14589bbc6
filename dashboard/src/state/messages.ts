import { signal } from '@preact/signals'
import { messageOf } from '../api/calls.ts'
import { later } from './clock.ts'
import { noticeChange } from './feed.ts'
import { noticeRefusal } from './session.ts'

/** Short messages about what was done, read out by screen readers. */
export interface Message {
  readonly id: number
  readonly kind: 'done' | 'failed'
  readonly text: string
}

export const messages = signal<readonly Message[]>([])
const SHOWN_MS = 7000
let lastId = 0

export function say(text: string, kind: Message['kind'] = 'done'): void {
  const id = ++lastId
  messages.value = [...messages.value.slice(-3), { id, kind, text }]
  later(SHOWN_MS, () => dismiss(id))
}

export function dismiss(id: number): void {
  messages.value = messages.value.filter((message) => message.id !== id)
}

/** Runs a change and says how it ended. Returns whether it succeeded. */
export async function act(done: string, change: () => Promise<unknown>): Promise<boolean> {
  try {
    await change()
    say(done)
    noticeChange()
    return true
  } catch (error) {
    noticeRefusal(error)
    say(messageOf(error), 'failed')
    return false
  }
}
