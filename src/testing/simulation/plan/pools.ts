import type { Random } from '../../random.js'
import { type SimulatedKind, simulatedKinds } from './operation.js'

/** The kinds that each machine handles. Each kind is handled by at least one machine. */
export function drawPools(random: Random, machines: number): readonly (readonly SimulatedKind[])[] {
  const [bell, gong] = simulatedKinds
  const pools = Array.from({ length: machines }, () =>
    random.pick<readonly SimulatedKind[]>([[bell], [bell], [gong], [gong], [bell, gong], []]),
  )
  const first = random.whole(0, machines - 1)
  for (const [index, kind] of simulatedKinds.entries()) {
    if (pools.some((kinds) => kinds.includes(kind))) continue
    const at = (first + index) % machines
    pools[at] = [...pools[at]!, kind]
  }
  return pools
}
