import { type Ours, open as openAt } from './ours.js'

/** For dozens of instances: four times the shards that a store has unless it is told otherwise. */
export async function open(url: string): Promise<Ours> {
  return await openAt(`${url}${url.includes('?') ? '&' : '?'}shards=64`)
}
