import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from 'carillon/testing'
import type { FakeClock } from '../fake-clock.js'
import type { Instance } from './instance.js'
import type { TcpProxy } from '../tcp-proxy.js'
import { machineMs } from './report.js'
import type { ChaosServer } from './server.js'
import type { Receiver } from './receiver.js'
import type { Takeovers } from './takeovers.js'
import type { Pace } from './task.js'

/** How many leases to wait for a takeover. The victim may keep its shard instead. */
const MAX_TAKEOVER_LEASES = 4
/** How long a clock is wrong, in leases: in the quick pace about five seconds. */
const CLOCK_LEASES = 3.3
const HOUR_MS = 3_600_000
/** The other instances need this long to fire and settle what a victim left behind. */
const SETTLED_BY_THEN_MS = 1200

interface Breakable {
  readonly server: ChaosServer
  readonly victim: Instance
  readonly random: Random
  readonly takeovers: Takeovers
  readonly receiver: Receiver
  readonly pace: Pace
  /** All instances, with the victim. */
  readonly all: readonly Instance[]
  /** The connection of the web processes. */
  readonly webProxy: TcpProxy | undefined
  /** Lets the web processes make all calls. No worker is up, and from then on no lease of one is left. */
  readonly withoutWorkers: (from: number) => Promise<void>
  /** Starts one more instance, which takes part like the others. */
  readonly join: () => Promise<Instance>
}

/** Shards that lost their owner by a fault, and when. Somebody must take them over. */
interface Loss {
  readonly shards: readonly number[]
  readonly at: number
}

export type Fault = (scene: Breakable) => Promise<Loss | undefined>

/** Each fault breaks something and repairs it before its promise resolves. */
export const faults: Readonly<Record<string, Fault>> = {
  /** kill -9. A new process starts before or after the lease of the old one has ended. */
  async kill({ victim, random, pace }) {
    const shards = [...victim.shards]
    const at = await victim.kill()
    await sleep(random.below(pace.leaseMs * 1.2))
    victim.begin()
    await victim.ready
    return { shards, at }
  },

  /** Pauses a process (SIGSTOP) for longer than its lease, and then lets it continue. */
  async stop(scene) {
    const { victim } = scene
    const shards = [...victim.shards]
    const at = victim.sleep()
    const isOver = scene.receiver.disturb(victim.name)
    await replaced(scene, { shards, at })
    victim.wake()
    isOver()
    return { shards, at }
  },

  async restart({ server, receiver }) {
    const isOver = receiver.disturb(undefined)
    await server.restart()
    isOver()
    return undefined
  },

  /** Ends the connections that receive wake-ups. */
  async deafen({ server }) {
    for (let tries = 0; (await server.endListeners()) === 0; tries++) {
      if (tries === 100) throw new Error('nobody listens')
      await sleep(50)
    }
    return undefined
  },

  /**
   * The server gets and executes what was sent, but no answer comes back: the connection is cut at the first byte of
   * the answer.
   */
  async cut({ victim, random, receiver }) {
    const isOver = receiver.disturb(victim.name)
    victim.proxy.cutAtAnswer()
    await sleep(100 + random.below(500))
    victim.proxy.open()
    isOver()
    return undefined
  },

  /** Answers arrive late, also those to renewals: the renewed lease has ended by then. */
  async lag(scene) {
    const { victim } = scene
    const shards = [...victim.shards]
    const at = machineMs()
    const isOver = scene.receiver.disturb(victim.name)
    victim.proxy.stopReading()
    await replaced(scene, { shards, at })
    victim.proxy.startReading()
    isOver()
    return { shards, at }
  },

  /** Nothing gets through for longer than the lease. */
  async partition(scene) {
    const { victim } = scene
    const shards = [...victim.shards]
    const at = machineMs()
    const isOver = scene.receiver.disturb(victim.name)
    victim.proxy.close()
    await replaced(scene, { shards, at })
    victim.proxy.open()
    isOver()
    return { shards, at }
  },

  /** An instance joins, gets shards, and stops cleanly. */
  async join({ join, random, pace, receiver }) {
    const joined = await join()
    await sleep(pace.acquireMs * 2 + random.below(pace.leaseMs))
    const shards = [...joined.shards]
    const at = machineMs()
    receiver.leaves(joined.name, pace.stopMs)
    await joined.leave()
    return { shards, at }
  },

  /** An instance stops cleanly and starts again, as in a rolling restart. */
  async roll({ victim, pace, random, receiver }) {
    const shards = [...victim.shards]
    const at = machineMs()
    receiver.leaves(victim.name, pace.stopMs)
    await victim.leave()
    await sleep(random.below(pace.acquireMs))
    victim.begin()
    await victim.ready
    return { shards, at }
  },

  /** All instances stop cleanly. The calls of web processes work meanwhile. Then all start again. */
  async 'all-stop'({ all, pace, receiver, withoutWorkers }) {
    for (const { name } of all) receiver.leaves(name, pace.stopMs)
    await Promise.all(all.map((one) => one.leave()))
    await withoutWorkers(machineMs())
    await beginAll(all)
    return undefined
  },

  /** kill -9 of all instances. The calls of web processes work again when the leases are over. */
  async 'all-kill'({ all, pace, withoutWorkers }) {
    await Promise.all(all.map((one) => one.kill()))
    await withoutWorkers(machineMs() + pace.leaseMs + pace.heartbeatMs * 2 + pace.acquireMs * 2)
    await beginAll(all)
    return undefined
  },

  /** The answers to the web processes are lost: what they asked for happens, and they do not know it. */
  async 'web-cut'({ webProxy, random }) {
    webProxy?.cutAtAnswer()
    await sleep(100 + random.below(500))
    webProxy?.open()
    return undefined
  },

  /** One instance's clock is 300 ms ahead: less than what is allowed. */
  'clock-ahead': ({ victim, pace }) => clockOff(victim.clock!, 300, pace),

  /** One instance's clock is half a minute off. */
  'clock-off': ({ victim, pace, random }) =>
    clockOff(victim.clock!, random.chance(0.5) ? 30_000 : -30_000, pace),

  /** One instance's clock is an hour ahead for a while. */
  'clock-hour': ({ victim, pace }) => clockOff(victim.clock!, HOUR_MS, pace),

  /** The server's clock is an hour ahead for a while. */
  'server-hour': ({ server, pace }) => clockOff(server.clock!, HOUR_MS, pace),
}

/** The faults that need movable clocks. */
export const clockFaults: readonly string[] = ['clock-ahead', 'clock-off', 'clock-hour', 'server-hour']

export function canHappen(fault: string, server: ChaosServer): boolean {
  return fault !== 'server-hour' || server.clock !== undefined
}

async function beginAll(all: readonly Instance[]): Promise<void> {
  for (const one of all) one.begin()
  await Promise.all(all.map(({ ready }) => ready))
}

async function clockOff(clock: FakeClock, offsetMs: number, pace: Pace): Promise<undefined> {
  clock.set(offsetMs)
  await sleep(pace.leaseMs * CLOCK_LEASES)
  clock.set(0)
  // Waits until every instance has noticed that the clock is right again.
  await sleep(pace.heartbeatMs * 2 + pace.acquireMs)
  return undefined
}

/**
 * Lets the lease of a victim run out. Then gives the others enough time to take its shards over and to settle what
 * was due, even on a busy machine. Only then does it matter what the victim does when it is back.
 */
async function replaced({ victim, random, takeovers, pace }: Breakable, { shards, at }: Loss): Promise<void> {
  await sleep(pace.leaseMs * 1.2)
  const isReplaced = (): boolean => shards.every((shard) => takeovers.isTaken(victim.name, shard, at))
  while (!isReplaced() && machineMs() < at + pace.leaseMs * MAX_TAKEOVER_LEASES) await sleep(50)
  await sleep(SETTLED_BY_THEN_MS + random.below(500))
}
