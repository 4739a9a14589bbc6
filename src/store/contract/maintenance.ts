/** Copying and shrinking a store while it works. One of the two can run at a time. */
export interface StoreMaintenance {
  /** Copies the store as of one instant to an empty or new folder. Calls go on meanwhile. */
  backup(folder: string): Promise<{ readonly bytes: number }>
  /** Returns free space to the disk. Calls go on meanwhile, and wait only for the last changes to be copied. */
  compact(): Promise<{ readonly bytes: number }>
  /** How far the running one is; undefined if none is running. */
  progress(): CopyProgress | undefined
  /** How many bytes the store has on the disk. */
  size(): number
  /** How many bytes its disk has left. */
  freeBytes(): number
}

/** How far a copy has come. */
export interface CopyProgress {
  readonly copiedBytes: number
  /** The most that there is to copy. A copy has no free pages, so it is often smaller. */
  readonly totalBytes: number
}
