// The handler of the bench. It waits for something, and then computes.
import type { TimerFiring } from 'carillon'
import { burn } from './burn.js'

export default async function handle({ payload }: TimerFiring<{ readonly rounds: number }>): Promise<void> {
  await Promise.resolve()
  burn(payload.rounds)
}
