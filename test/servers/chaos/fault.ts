import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from 'carillon/testing'
import type { Instance } from './instance.js'
import { machineMs } from './report.js'
import type { ChaosServer } from './server.js'
import { engine } from './task.js'

interface Scene {
  readonly server: ChaosServer
  readonly victim: Instance
  readonly random: Random
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
  async stop({ victim, random }) {
    const shards = [...victim.shards]
    const at = victim.sleep()
    await sleep(engine.leaseMs * 1.2 + random.below(engine.leaseMs))
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

  /** Nothing gets through for longer than the lease. */
  async partition({ victim, random }) {
    const shards = [...victim.shards]
    const at = machineMs()
    victim.proxy.close()
    await sleep(engine.leaseMs * 1.2 + random.below(engine.leaseMs))
    victim.proxy.open()
    return { shards, at }
  },
}
