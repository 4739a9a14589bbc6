import type { Member } from './store.js'

/** Who has a heartbeat, for stores that only one process can have open: nothing of it need be kept. */
export class MemberTable {
  readonly #members = new Map<string, { readonly member: Member; readonly until: number }>()

  heartbeat(member: Member, ttlMs: number, now: number): { now: number; members: Member[] } {
    this.#members.set(member.id, { member, until: now + ttlMs })
    const members: Member[] = []
    for (const [id, { member: other, until }] of this.#members) {
      if (until > now) members.push(other)
      else this.#members.delete(id)
    }
    return { now, members }
  }

  leave(id: string): void {
    this.#members.delete(id)
  }
}
