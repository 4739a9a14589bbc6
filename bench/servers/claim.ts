import type { StoreUrl } from 'carillon'
import { type Ours, open as openWith } from './ours.js'

/** The strategy without owners: each due timer is claimed in the store. It is for serverless functions. */
export async function open(url: StoreUrl): Promise<Ours> {
  return await openWith(url, { strategy: 'claim' })
}
