import { type FileHandle, open } from 'node:fs/promises'
import { StoreError } from '../../../error/index.js'
import { PAGE_BYTES } from '../lmdb/tables.js'

/*
 * The part of LMDB's file format that the walk needs (version 2, little-endian). A page begins with a header:
 *
 *     0  u64  its number             18  u16  flags
 *     8  u64  transaction            20  u16  lower, u16 upper: bounds of the free space of a node page
 *    16  u16  (unused)               20  u32  the number of pages of a long value
 *
 * Pages 0 and 1 are meta pages. The one with the later transaction counts.
 */
export const PAGE_HEADER = 24
export const BRANCH = 1
export const LEAF = 2
export const OVERFLOW = 4
const META = 8
const MAGIC = 0xbe_ef_c0_de
const DATA_VERSION = 2
/** The root of an empty tree. */
const NO_PAGE = 2n ** 64n - 1n

/** The tree of a table, or of the list of tables. */
export interface Tree {
  readonly depth: number
  readonly entries: number
  /** Undefined if it is empty. */
  readonly root: number | undefined
}

/** A snapshot of the file. */
export interface Snapshot {
  readonly transaction: number
  readonly lastPage: number
  readonly tables: Tree
}

/**
 * Reads LMDB's file page by page, and trusts nothing in it. LMDB itself does not check what it reads: a damaged page
 * may end the process.
 */
export class PageFile {
  readonly #file: FileHandle

  private constructor(file: FileHandle) {
    this.#file = file
  }

  static async open(file: string): Promise<PageFile> {
    return new PageFile(await open(file, 'r'))
  }

  async close(): Promise<void> {
    await this.#file.close()
  }

  /** The latest snapshot. */
  async snapshot(): Promise<Snapshot> {
    const metas = await Promise.all([this.#meta(0), this.#meta(1)])
    const [first, second] = metas
    if (first === undefined && second === undefined)
      throw new StoreError('store-damaged', 'both meta pages of the file are damaged')
    if (first === undefined || second === undefined) return first ?? second!
    return first.transaction > second.transaction ? first : second
  }

  /** Reads pages that follow each other. Undefined if the file ends before. */
  async pages(first: number, count: number): Promise<Buffer | undefined> {
    const bytes = Buffer.allocUnsafe(count * PAGE_BYTES)
    const { bytesRead } = await this.#file.read(bytes, 0, bytes.length, first * PAGE_BYTES)
    return bytesRead === bytes.length ? bytes : undefined
  }

  async #meta(number: number): Promise<Snapshot | undefined> {
    const page = await this.pages(number, 1)
    if (page === undefined || (page.readUInt16LE(18) & META) === 0) return undefined
    if (page.readUInt32LE(PAGE_HEADER) !== MAGIC) return undefined
    if ((page.readUInt32LE(PAGE_HEADER + 4) & 0xff_ff) !== DATA_VERSION) return undefined
    return {
      tables: treeOf(page, PAGE_HEADER + 72),
      lastPage: Number(page.readBigUInt64LE(PAGE_HEADER + 120)),
      transaction: Number(page.readBigUInt64LE(PAGE_HEADER + 128)),
    }
  }
}

export const TREE_BYTES = 48

/** Reads the record of a tree. */
export function treeOf(bytes: Buffer, at: number): Tree {
  const root = bytes.readBigUInt64LE(at + 40)
  return {
    depth: bytes.readUInt16LE(at + 6),
    entries: Number(bytes.readBigUInt64LE(at + 32)),
    root: root === NO_PAGE ? undefined : Number(root),
  }
}
