import type { VirtualClock } from '../src/time/index.js'

/** Lets virtual time pass, step by step, until `work` is done. `rest` gives a disk the real time that it needs. */
export async function during<Answer>(
  clock: VirtualClock,
  work: Promise<Answer>,
  stepMs: number,
  rest: () => Promise<unknown> = () => Promise.resolve(),
): Promise<Answer> {
  const state = { isOver: false }
  const watched = work.finally(() => {
    state.isOver = true
  })
  watched.catch(() => undefined)
  await clock.advance(0)
  while (!state.isOver) {
    await clock.advance(stepMs)
    await rest()
  }
  return await watched
}
