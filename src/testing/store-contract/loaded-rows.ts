import type { World } from './world.js'

/** Due rows, one millisecond apart, that their owner has loaded. */
export async function loadedRows(world: World, count: number) {
  const owner = await world.own()
  const from = world.now() + 1
  const rows = await owner.setAt(...Array.from({ length: count }, (_, i) => from + i))
  await owner.load(from + count)
  await world.clock.advance(count + 10)
  // A level at the clock must be below the read level.
  await owner.load(world.now())
  return { owner, rows }
}
