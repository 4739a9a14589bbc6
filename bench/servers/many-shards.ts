import type { StoreUrl } from 'carillon'
import { type Ours, open as openAt } from './ours.js'

/** As for dozens of instances: four times the default number of shards. */
export async function open(url: string): Promise<Ours> {
  return await openAt(`${url}${url.includes('?') ? '&' : '?'}shards=64` as StoreUrl)
}
