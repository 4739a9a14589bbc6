import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Random } from 'carillon/testing'
import type { DiskCall } from './recording.js'

const SECTOR_BYTES = 512
const PAGE_BYTES = 4096

/** A write or truncation since the last flush of its file. A durable one is on the disk anyway. */
interface Change {
  readonly offset: number
  /** Undefined truncates the file at the offset. */
  readonly bytes: Buffer | undefined
  readonly isDurable: boolean
}

interface File {
  readonly synced: Contents
  changes: Change[]
}

/** Bytes that grow in place. */
class Contents {
  #bytes: Buffer
  #length: number

  constructor(from?: Contents) {
    this.#bytes = Buffer.from(from?.bytes ?? [])
    this.#length = this.#bytes.length
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  resize(length: number): void {
    if (length > this.#bytes.length) {
      const larger = Buffer.alloc(2 * length)
      this.bytes.copy(larger)
      this.#bytes = larger
    }
    // Truncated bytes must not come back when the file grows.
    if (length < this.#length) this.#bytes.fill(0, length, this.#length)
    this.#length = length
  }

  put(bytes: Buffer, offset: number): void {
    if (offset + bytes.length > this.#length) this.resize(offset + bytes.length)
    bytes.copy(this.#bytes, offset)
  }
}

/** A folder, or a file. */
type Entry = 'folder' | File

/** A change of names since the last flush of their folder. */
interface NameChange {
  /** The folder whose flush makes the change durable. */
  readonly folder: string
  readonly removed: string | undefined
  readonly added: string | undefined
  readonly entry: Entry | undefined
}

/**
 * A disk that promises no more than POSIX does. Flushed data is there. Of data written since, any sector may be old or
 * new. A created, renamed or removed name is durable only once its folder was flushed: flushing the file is not enough.
 */
export class Disk {
  readonly #home: string
  /** Names as programs see them. */
  readonly #names = new Map<string, Entry>()
  readonly #durableNames = new Map<string, Entry>()
  #nameChanges: NameChange[] = []

  constructor(home: string) {
    this.#home = home
    this.#names.set(home, 'folder')
    this.#durableNames.set(home, 'folder')
  }

  take(call: DiskCall): void {
    const { type, path: name, second } = call
    switch (type) {
      case 'create':
        this.#name({ removed: undefined, added: name, entry: { synced: new Contents(), changes: [] } })
        break
      case 'make-folder':
        this.#name({ removed: undefined, added: name, entry: 'folder' })
        break
      case 'rename':
        this.#name({ removed: name, added: second, entry: this.#names.get(name) })
        break
      case 'unlink':
      case 'remove-folder':
        this.#name({ removed: name, added: undefined, entry: undefined })
        break
      case 'write':
        this.#fileAt(name)?.changes.push({
          offset: call.offset,
          bytes: call.bytes,
          isDurable: call.isDurable,
        })
        break
      case 'truncate':
        this.#fileAt(name)?.changes.push({ offset: call.offset, bytes: undefined, isDurable: false })
        break
      case 'sync':
        this.#sync(name)
    }
  }

  /**
   * Writes the disk to a folder, as it may be if the power goes now. The call in flight may be there, also in part.
   * Returns how the state was chosen.
   */
  rebuild(folder: string, random: Random, inFlight: DiskCall): string {
    const file = inFlight.type === 'write' ? this.#fileAt(inFlight.path) : undefined
    file?.changes.push({ offset: inFlight.offset, bytes: inFlight.bytes, isDurable: false })
    try {
      return this.#rebuild(folder, random)
    } finally {
      file?.changes.pop()
    }
  }

  #rebuild(folder: string, random: Random): string {
    const namesBy = random.pick(['none', 'all', 'first', 'any'] as const)
    const bytesBy = random.pick(['none', 'all', 'write', 'page', 'sector'] as const)
    const names = this.#namesAfterLoss(namesBy, random)
    mkdirSync(folder, { recursive: true })
    const written = new Map<string, boolean>([[this.#home, true]])
    for (const [name, entry] of [...names].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      if (name === this.#home) continue
      // Skip the files of a missing folder.
      if (written.get(path.dirname(name)) !== true) continue
      const target = path.join(folder, path.relative(this.#home, name))
      if (entry === 'folder') mkdirSync(target)
      else writeFileSync(target, contentsAfterLoss(entry, bytesBy, random))
      written.set(name, entry === 'folder')
    }
    return `names ${namesBy}, bytes ${bytesBy}`
  }

  #fileAt(name: string): File | undefined {
    const entry = this.#names.get(name)
    return entry === 'folder' ? undefined : entry
  }

  #name(change: Omit<NameChange, 'folder'>): void {
    const { removed, added, entry } = change
    if (removed !== undefined) this.#names.delete(removed)
    if (added !== undefined && entry !== undefined) this.#names.set(added, entry)
    this.#nameChanges.push({ folder: path.dirname(added ?? removed!), ...change })
  }

  #sync(name: string): void {
    const entry = this.#names.get(name)
    if (entry === undefined) return
    if (entry !== 'folder') {
      apply(entry.changes, entry.synced, () => true)
      entry.changes = []
      return
    }
    const durable = this.#nameChanges.filter(({ folder }) => folder === name)
    for (const change of durable) applyNameChange(this.#durableNames, change)
    // A rename also removes its old name, so an earlier pending change that added that name is void.
    const gone = new Set(durable.map(({ removed }) => removed))
    this.#nameChanges = this.#nameChanges.filter(
      ({ folder, added }) => folder !== name && !(added !== undefined && gone.has(added)),
    )
  }

  #namesAfterLoss(by: 'none' | 'all' | 'first' | 'any', random: Random): Map<string, Entry> {
    const names = new Map(this.#durableNames)
    const first = random.below(this.#nameChanges.length + 1)
    for (const [index, change] of this.#nameChanges.entries()) {
      const isThere =
        by === 'all' || (by === 'first' && index < first) || (by === 'any' && random.chance(0.5))
      if (isThere) applyNameChange(names, change)
    }
    return names
  }
}

function applyNameChange(names: Map<string, Entry>, { removed, added, entry }: NameChange): void {
  if (removed !== undefined) names.delete(removed)
  if (added !== undefined && entry !== undefined) names.set(added, entry)
}

function contentsAfterLoss(
  file: File,
  by: 'none' | 'all' | 'write' | 'page' | 'sector',
  random: Random,
): Buffer {
  const contents = new Contents(file.synced)
  const half = (): boolean => random.chance(0.5)
  switch (by) {
    case 'none':
      apply(file.changes, contents, () => false)
      // The new length may be durable before the bytes are.
      if (random.chance(0.3)) {
        const ends = file.changes.map(({ offset, bytes }) => offset + (bytes?.length ?? 0))
        contents.resize(Math.max(contents.bytes.length, ...ends))
      }
      break
    case 'all':
      apply(file.changes, contents, () => true)
      break
    case 'write':
      apply(file.changes, contents, half)
      break
    case 'page':
      apply(file.changes, contents, half, PAGE_BYTES)
      break
    case 'sector':
      apply(file.changes, contents, half, SECTOR_BYTES)
  }
  return contents.bytes
}

/** Applies changes. `isKept` decides about each unit of a change that is not durable. */
function apply(changes: readonly Change[], contents: Contents, isKept: () => boolean, unit = Infinity): void {
  for (const { offset, bytes, isDurable } of changes) {
    if (bytes === undefined) {
      if (isKept()) contents.resize(offset)
      continue
    }
    for (let at = 0; at < bytes.length;) {
      const end =
        unit === Infinity ? bytes.length : Math.min(bytes.length, at + unit - ((offset + at) % unit))
      if (isDurable || isKept()) contents.put(bytes.subarray(at, end), offset + at)
      at = end
    }
  }
}
