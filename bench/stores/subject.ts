import { MemoryStore, openStore, type Store } from 'carillon/store'
import type { VirtualClock } from 'carillon/time'
import { Folder } from './folder.js'

/** A store as the bench uses it: created, perhaps opened again, its disk usage measured, and removed. */
export interface StoreSubject {
  readonly store: Store
  readonly diskBytes: () => number
  /** Opens the stopped store again. Undefined for a store that is not durable. */
  readonly reopen: (() => Promise<Store>) | undefined
  readonly remove: () => void
}

export type StoreKind = (clock: VirtualClock) => Promise<StoreSubject>

export const memory: StoreKind = async (clock) => ({
  store: new MemoryStore({ clock }),
  diskBytes: () => 0,
  reopen: undefined,
  remove: () => {},
})

export const file: StoreKind = async (clock) => {
  const folder = new Folder()
  const open = async (): Promise<Store> => await openStore(`file:${folder.path}`, { clock })
  return {
    store: await open(),
    diskBytes: () => folder.diskBytes(),
    reopen: open,
    remove: () => folder.remove(),
  }
}
