import { PAGE_BYTES } from '../lmdb/tables.js'
import { BRANCH, LEAF, OVERFLOW, PAGE_HEADER, type PageFile, type Snapshot, type Tree } from './page-file.js'

const NODE_HEADER = 8
const LONG_VALUE = 1
const TABLE = 2
/** No tree of LMDB is deeper. */
const MAX_DEPTH = 32

/** An entry of a tree. */
export interface Entry {
  readonly key: Buffer
  readonly value: Buffer
  /** The first page of the value. */
  readonly page: number
  /** Whether the value is the record of a table. */
  readonly isTable: boolean
}

interface Node {
  readonly key: Buffer
  readonly size: number
  readonly flags: number
  /** Where its value begins in the page. */
  readonly at: number
  readonly child: number
}

/**
 * Walks the trees of a snapshot. It reports every page that cannot be one of the tree, and goes on with the others.
 *
 * Proven by test/store/file/inspect.test.ts.
 */
export class TreeWalk {
  readonly #file: PageFile
  readonly #snapshot: Snapshot
  readonly #onDamage: (page: number, what: string) => void
  /** One bit for each page: a page belongs to one place only. */
  readonly #seen: Uint8Array

  constructor(file: PageFile, snapshot: Snapshot, onDamage: (page: number, what: string) => void) {
    this.#file = file
    this.#snapshot = snapshot
    this.#onDamage = onDamage
    this.#seen = new Uint8Array(Math.ceil((snapshot.lastPage + 1) / 8))
  }

  /** Whether the walk has come to a page. */
  hasSeen(page: number): boolean {
    return ((this.#seen[page >>> 3] ?? 0) & (1 << (page & 7))) !== 0
  }

  /** The entries of a tree, in order. */
  async *entries(tree: Tree): AsyncGenerator<Entry> {
    if (tree.root === undefined) return
    if (tree.depth > MAX_DEPTH) {
      this.#onDamage(tree.root, `its tree is ${tree.depth} levels deep`)
      return
    }
    let found = 0
    let isWhole = true
    for await (const entry of this.#walk(tree.root, tree.depth)) {
      if (entry === undefined) isWhole = false
      else {
        found++
        yield entry
      }
    }
    if (isWhole && found !== tree.entries)
      this.#onDamage(tree.root, `its tree has ${found} entries instead of ${tree.entries}`)
  }

  /** Yields undefined for everything that is damaged. */
  async *#walk(number: number, depth: number): AsyncGenerator<Entry | undefined> {
    const page = await this.#page(number, depth > 1 ? BRANCH : LEAF)
    const nodes = page && this.#nodes(number, page, depth > 1)
    if (page === undefined || nodes === undefined) {
      yield undefined
      return
    }
    for (const node of nodes) {
      if (depth > 1) yield* this.#walk(node.child, depth - 1)
      else yield await this.#entry(number, page, node)
    }
  }

  async #entry(number: number, page: Buffer, { key, size, flags, at }: Node): Promise<Entry | undefined> {
    const isTable = (flags & TABLE) !== 0
    if ((flags & LONG_VALUE) === 0) return { key, value: page.subarray(at, at + size), page: number, isTable }
    const first = Number(page.readBigUInt64LE(at))
    const count = Number(page.readBigUInt64LE(at + 16))
    if (count !== Math.floor((PAGE_HEADER - 1 + size) / PAGE_BYTES) + 1 || !this.#isInFile(first, count)) {
      this.#onDamage(number, `a value of ${size} bytes is said to have ${count} pages from page ${first} on`)
      return undefined
    }
    const bytes = await this.#page(first, OVERFLOW, count)
    if (bytes === undefined) return undefined
    return { key, value: bytes.subarray(PAGE_HEADER, PAGE_HEADER + size), page: first, isTable }
  }

  /** Reads a page, or the pages of a long value, and checks the header. */
  async #page(number: number, kind: number, count = 1): Promise<Buffer | undefined> {
    if (!this.#isInFile(number, count)) return this.#damaged(number, 'the file has no such page')
    for (let page = number; page < number + count; page++) {
      if (this.hasSeen(page)) return this.#damaged(page, 'two places refer to it')
      this.#seen[page >>> 3]! |= 1 << (page & 7)
    }
    const page = await this.#file.pages(number, count)
    if (page === undefined) return this.#damaged(number, 'the file ends before it does')
    const own = Number(page.readBigUInt64LE(0))
    if (own !== number) return this.#damaged(number, `its header says page ${own}`)
    if ((page.readUInt16LE(18) & (BRANCH | LEAF | OVERFLOW)) !== kind)
      return this.#damaged(number, 'it is of another kind')
    if (Number(page.readBigUInt64LE(8)) > this.#snapshot.transaction)
      return this.#damaged(number, 'it is newer than the file')
    if (kind === OVERFLOW && page.readUInt32LE(20) !== count)
      return this.#damaged(number, `its header says ${page.readUInt32LE(20)} pages instead of ${count}`)
    return page
  }

  /** The nodes of a page; undefined if one of them does not fit, or they are not in order. */
  #nodes(number: number, page: Buffer, isBranch: boolean): readonly Node[] | undefined {
    const count = page.readUInt16LE(20) >>> 1
    if (PAGE_HEADER + 2 * count > PAGE_BYTES) return this.#damaged(number, 'its nodes do not fit')
    const nodes: Node[] = []
    for (let i = 0; i < count; i++) {
      const at = PAGE_HEADER + page.readUInt16LE(PAGE_HEADER + 2 * i)
      if (at + NODE_HEADER > PAGE_BYTES) return this.#damaged(number, `its node ${i} does not fit`)
      const flags = page.readUInt16LE(at + 4)
      const low = page.readUInt32LE(at)
      const valueAt = at + NODE_HEADER + page.readUInt16LE(at + 6)
      const size = isBranch ? 0 : low
      const isLong = !isBranch && (flags & LONG_VALUE) !== 0
      if (valueAt + (isLong ? 24 : size) > PAGE_BYTES)
        return this.#damaged(number, `its node ${i} does not fit`)
      const key = page.subarray(at + NODE_HEADER, valueAt)
      const before = nodes.at(-1)
      // The first key of a branch is not stored.
      if (before !== undefined && !(isBranch && i === 1) && before.key.compare(key) >= 0)
        return this.#damaged(number, 'its keys are not in order')
      nodes.push({ key, size, flags: isBranch ? 0 : flags, at: valueAt, child: low + flags * 2 ** 32 })
    }
    return nodes
  }

  #isInFile(number: number, count: number): boolean {
    return number >= 2 && number + count - 1 <= this.#snapshot.lastPage
  }

  #damaged(number: number, what: string): undefined {
    this.#onDamage(number, what)
  }
}
