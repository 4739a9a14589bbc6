import type { Member } from './store.js'

/** Members and their heartbeats, for stores that a single process opens. It is not durable and need not be. */
export class MemberTable {
  readonly #members = new Map<string, { readonly member: Member; readonly until: number }>()

  heartbeat(member: Member, ttlMs: number, now: number): { now: number; members: Member[] } {
    this.#members.set(member.id, { member, until: now + ttlMs })
    const members: Member[] = []
    for (const [id, { member: other, until }] of this.#members) {
      // It was sent while the clock was ahead (see `heartbeat` in contract/cluster.ts).
      if (until > now + 2 * ttlMs) this.#members.set(id, { member: other, until: now + ttlMs })
      if (until > now) members.push(other)
      else this.#members.delete(id)
    }
    return { now, members }
  }

  remove(id: string): void {
    this.#members.delete(id)
  }
}
