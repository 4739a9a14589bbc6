import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as parallel from 'carillon/parallel'

/**
 * The compare-and-set of records, and the same as two steps, between which another thread can change the word. A pause
 * between them makes up for a machine whose cores are busy with something else.
 */
const WHOLE = 'return Atomics.compareExchange(this.#words, at, expected, value) === expected;'
const TAKEN_APART = `if (Atomics.load(this.#words, at) !== expected) return false;
        for (let i = 0; i < 50; i++) Atomics.load(this.#words, at);
        Atomics.store(this.#words, at, value);
        return true;`

/** A copy of the built pool whose records lack the compare-and-set. */
export class PlantedPool {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'carillon-planted-'))

  constructor(root: string) {
    for (const folder of ['error', 'time', 'async', 'wheel', 'parallel'])
      cpSync(path.join(root, 'dist', folder), path.join(this.#folder, 'dist', folder), { recursive: true })
    cpSync(path.join(root, 'test/parallel/tasks.mjs'), path.join(this.#folder, 'test/parallel/tasks.mjs'))
    writeFileSync(path.join(this.#folder, 'package.json'), '{ "type": "module" }')
    const file = path.join(this.#folder, 'dist/parallel/memory/shared-words.js')
    const text = readFileSync(file, 'utf8')
    if (!text.includes(WHOLE)) throw new Error(`the compare-and-set is no longer where it was: ${file}`)
    writeFileSync(file, text.replace(WHOLE, TAKEN_APART))
  }

  get module(): URL {
    return pathToFileURL(path.join(this.#folder, 'test/parallel/tasks.mjs'))
  }

  async load(): Promise<typeof parallel> {
    const url = pathToFileURL(path.join(this.#folder, 'dist/parallel/index.js')).href
    return (await import(url)) as typeof parallel
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
