import { type Ours, open as openAt } from './ours.js'

/** What suits up to three instances on one server: a quarter of the shards that a store has unless it is told otherwise. */
export async function open(url: string): Promise<Ours> {
  return await openAt(`${url}${url.includes('?') ? '&' : '?'}shards=16`)
}
