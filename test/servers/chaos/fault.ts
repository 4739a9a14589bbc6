import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from 'carillon/testing'
import type { Instance } from './instance.js'
import { machineMs } from './report.js'
import type { ChaosServer } from './server.js'
import type { Takeovers } from './takeovers.js'
import { engine } from './task.js'

/** How long a takeover is waited for; it may be that the victim keeps its shard. */
const LONGEST_TAKEOVER_MS = 6000
/** What the others need to fire and settle what a victim left behind. */
const SETTLED_BY_THEN_MS = 1200

interface Scene {
  readonly server: ChaosServer
  readonly victim: Instance
  readonly random: Random
  readonly takeovers: Takeovers
}

/** What a fault leaves to be watched: shards whose owner is gone since then. */
interface Loss {
  readonly shards: readonly number[]
  readonly at: number
}

export type Fault = (scene: Scene) => Promise<Loss | undefined>

/** Each breaks something, and mends it before it answers. */
export const faults: Readonly<Record<string, Fault>> = {
  /** kill -9; a new life begins before or after the lease of the old one is over. */
  async kill({ victim, random }) {
    const shards = [...victim.shards]
    const at = await victim.kill()
    await sleep(random.below(engine.leaseMs * 1.2))
    victim.begin()
    await victim.ready
    return { shards, at }
  },

  /** Stopped for longer than its lease, and then as if nothing had happened. */
  async stop(scene) {
    const { victim } = scene
    const shards = [...victim.shards]
    const at = victim.sleep()
    await replaced(scene, { shards, at })
    victim.wake()
    return { shards, at }
  },

  async restart({ server }) {
    await server.restart()
    return undefined
  },

  /** The connections that hear of wake-ups are gone. */
  async deafen({ server }) {
    for (let tries = 0; (await server.endListeners()) === 0; tries++) {
      if (tries === 100) throw new Error('nobody listens')
      await sleep(50)
    }
    return undefined
  },

  /** What was sent arrives and is done, and no answer comes back: the connection is cut at its first byte. */
  async cut({ victim, random }) {
    victim.proxy.cutAtAnswer()
    await sleep(100 + random.below(500))
    victim.proxy.open()
    return undefined
  },

  /** Answers, those to renewals among them, arrive when the lease they prolonged is over. */
  async lag(scene) {
    const { victim } = scene
    const shards = [...victim.shards]
    const at = machineMs()
    victim.proxy.stopReading()
    await replaced(scene, { shards, at })
    victim.proxy.startReading()
    return { shards, at }
  },

  /** Nothing gets through for longer than the lease. */
  async partition(scene) {
    const { victim } = scene
    const shards = [...victim.shards]
    const at = machineMs()
    victim.proxy.close()
    await replaced(scene, { shards, at })
    victim.proxy.open()
    return { shards, at }
  },
}

/**
 * Lets the lease of a victim run out, and gives the others the time to take its shards over and to settle what was
 * due, however busy the machine is: only then does it matter what the victim does when it is back.
 */
async function replaced({ victim, random, takeovers }: Scene, { shards, at }: Loss): Promise<void> {
  await sleep(engine.leaseMs * 1.2)
  const isReplaced = (): boolean => shards.every((shard) => takeovers.isTaken(victim.name, shard, at))
  while (!isReplaced() && machineMs() < at + LONGEST_TAKEOVER_MS) await sleep(50)
  await sleep(SETTLED_BY_THEN_MS + random.below(500))
}
