import { canFakeClocks, FAKE_CLOCK_ADVICE } from '../fake-clock.js'
import type { PaceName } from '../chaos/task.js'
import { GERMAN_ADVICE, germanBinaries } from '../german-postgres.js'
import { scenes } from './scenes.js'
import { Stage, type StageReport } from './stage.js'

export interface SceneTask {
  readonly scene: string
  readonly server: string
  readonly strategy: string
  readonly pace: PaceName
}

/** Why a scene cannot run on this machine or server; undefined if it can. */
export function obstacleTo({ scene, server }: Pick<SceneTask, 'scene' | 'server'>): string | undefined {
  const { needs, servers } = scenes[scene]!
  if (servers !== undefined && !servers.includes(server))
    return `the scene ${scene} does not support ${server}`
  if ((needs === 'clocks' || needs === 'server-clock') && !canFakeClocks) return FAKE_CLOCK_ADVICE
  if (needs === 'german' && germanBinaries() === undefined) return GERMAN_ADVICE
  return undefined
}

export async function play({ scene, server, strategy, pace }: SceneTask): Promise<StageReport> {
  const { shards, attempts, needs, play: perform } = scenes[scene]!
  const stage = await Stage.open({
    server,
    strategy,
    pace,
    shards,
    attempts,
    hasServerClock: needs === 'server-clock',
    isGerman: needs === 'german',
  })
  try {
    await perform(stage)
    return await stage.finish()
  } finally {
    await stage.close()
  }
}
