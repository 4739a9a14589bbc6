import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { obstacleTo } from './scenes/play.js'
import { scenes } from './scenes/scenes.js'

const program = fileURLToPath(new URL('../../.carillon/run/test/servers/chaos/chaos.js', import.meta.url))
const MAX_MS = 180_000

/** Scenes that also run with another strategy than `preload`, because its code path differs. */
const others: readonly (readonly [scene: string, strategy: string])[] = [['killed-ahead', 'claim']]
const possible = [...Object.keys(scenes).map((scene) => [scene, 'preload'] as const), ...others].filter(
  ([scene]) => obstacleTo({ scene, server: 'postgres' }) === undefined,
)

describe('real processes on one PostgreSQL (npm run chaos -- servers --scene all tries other stores)', () => {
  it.each(possible)(
    'keep every promise in the scene %s with the strategy %s',
    (scene, strategy) => {
      const { stdout, stderr, status } = run(scene, strategy)
      expect(stderr).toMatch(/^chaos: .*\n$/)
      expect(stdout).toContain('all promises kept')
      expect(status).toBe(0)
    },
    MAX_MS,
  )
})

function run(scene: string, strategy: string) {
  return spawnSync(process.execPath, [program, '--scene', scene, '--strategy', strategy], {
    encoding: 'utf8',
  })
}
