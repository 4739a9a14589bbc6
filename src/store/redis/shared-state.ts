import { MAIL_KEPT_MS, MAX_MAIL } from '../mailboxes.js'
import type { MailMessage, Member, Setting } from '../store.js'
import { MAIL_MARK, storeKey } from './keys.js'
import type { RedisNodes } from './net/nodes.js'
import type { Reply } from './net/connection.js'
import { Script } from './scripts/script.js'
import { heartbeatLua, nowLua, postLua, putSettingLua } from './scripts/shared.lua.js'

const nowScript = Script.reading(nowLua)
const putSettingScript = Script.writingWhenFull(putSettingLua)
const heartbeatScript = Script.writingWhenFull(heartbeatLua)
const postScript = Script.writingWhenFull(postLua)

/** What instances share besides timers: the time, members, their mail, and settings. All of it is in one cluster slot. */
export class SharedState {
  readonly #nodes: RedisNodes
  readonly #key: string
  readonly #now: () => string

  constructor(nodes: RedisNodes, now: () => string) {
    this.#nodes = nodes
    this.#key = storeKey(nodes.target.prefix)
    this.#now = now
  }

  async now(): Promise<number> {
    return toMilliseconds(await nowScript.run(this.#nodes, this.#key, [this.#now()]))
  }

  async heartbeat({ id, details }: Member, ttlMs: number): Promise<{ now: number; members: Member[] }> {
    const args = [this.#now(), id, String(ttlMs), details]
    const [now, ...flat] = (await heartbeatScript.run(this.#nodes, this.#key, args)) as Buffer[]
    const members: Member[] = []
    for (let index = 0; index < flat.length; index += 2) {
      members.push({ id: String(flat[index]), details: String(flat[index + 1]) })
    }
    return { now: toMilliseconds(now!), members }
  }

  async removeMember(id: string): Promise<void> {
    await this.#nodes.call(this.#key, ['HDEL', `${this.#key}:members`, id], { isWrite: true })
    await this.#nodes.call(this.#key, ['DEL', this.#mailKey(id)], { isWrite: true })
  }

  async post(messages: readonly MailMessage[]): Promise<void> {
    if (messages.length === 0) return
    const flat = messages.flatMap(({ member, text }) => [member, text])
    await postScript.run(this.#nodes, this.#key, [String(MAX_MAIL), String(MAIL_KEPT_MS), MAIL_MARK, ...flat])
  }

  async takeMail(member: string, limit: number): Promise<readonly string[]> {
    const taken = await this.#nodes.call(this.#key, ['LPOP', this.#mailKey(member), String(limit)], {
      isWrite: true,
    })
    return ((taken ?? []) as Buffer[]).map(String)
  }

  #mailKey(member: string): string {
    return `${this.#key}:mail:${member}`
  }

  async settings(prefix: string): Promise<Setting[]> {
    const flat = (await this.#nodes.call(this.#key, ['HGETALL', `${this.#key}:settings`])) as Buffer[]
    const settings: Setting[] = []
    for (let index = 0; index < flat.length; index += 2) {
      const name = String(flat[index])
      const text = flat[index + 1]!
      if (name.startsWith(prefix)) {
        settings.push({ name, value: text.toString('utf8', 8), version: text.readDoubleLE(0) })
      }
    }
    return settings
  }

  async putSetting(name: string, value: string | undefined, ifVersion?: number): Promise<number | undefined> {
    const args = [this.#now(), name, String(ifVersion ?? ''), value === undefined ? '0' : '1', value ?? '']
    const version = await putSettingScript.run(this.#nodes, this.#key, args)
    return version === null ? undefined : Number(version)
  }
}

// The division rounds to the nearest double. A time just below a whole millisecond never becomes that millisecond.
function toMilliseconds(microseconds: Reply): number {
  return Number(microseconds) / 1000
}
