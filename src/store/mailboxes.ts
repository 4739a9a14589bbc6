import type { MailMessage } from './store.js'

/** How long a message waits to be taken, and how many messages a mailbox keeps. */
export const MAIL_KEPT_MS = 60_000
export const MAX_MAIL = 10_000

/** The mailboxes of members, for stores that a single process opens. They are not durable and need not be. */
export class Mailboxes {
  readonly #byMember = new Map<string, KeptMessage[]>()
  readonly #listeners = new Set<(member: string) => void>()

  post(messages: readonly MailMessage[], now: number): void {
    for (const { member, text } of messages) {
      const kept = this.#kept(member, now)
      kept.push({ text, at: now })
      this.#byMember.set(member, kept.slice(-MAX_MAIL))
    }
    for (const member of new Set(messages.map((message) => message.member)))
      for (const listener of this.#listeners) listener(member)
  }

  take(member: string, limit: number, now: number): readonly string[] {
    const kept = this.#kept(member, now)
    const taken = kept.splice(0, limit)
    if (kept.length === 0) this.#byMember.delete(member)
    else this.#byMember.set(member, kept)
    return taken.map(({ text }) => text)
  }

  remove(member: string): void {
    this.#byMember.delete(member)
  }

  /**
   * Calls `listener` for each member that gets mail, until the function that it answers is called. `carry` delays or
   * drops a call.
   */
  listen(listener: (member: string) => void, carry: (call: () => void) => void = queueMicrotask): () => void {
    // A new function for each call, because the same listener may be added twice.
    const added = (member: string): void =>
      carry(() => {
        if (this.#listeners.has(added)) listener(member)
      })
    this.#listeners.add(added)
    return () => void this.#listeners.delete(added)
  }

  removeListeners(): void {
    this.#listeners.clear()
  }

  #kept(member: string, now: number): KeptMessage[] {
    return (this.#byMember.get(member) ?? []).filter(({ at }) => now - at < MAIL_KEPT_MS)
  }
}

interface KeptMessage {
  readonly text: string
  readonly at: number
}
