import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const page = read('docs/architecture.md')
const rules = allowedIn(read('test/house/imports.test.ts'))

describe('the table of folders in docs/architecture.md', () => {
  it('lists each folder of src/ with the folders that test/house/imports.test.ts lets it import', () => {
    expect(Object.keys(rules).length).toBeGreaterThan(10)
    expect(foldersOf(page)).toEqual(rules)
  })

  it.each([
    ['misses a folder', '| `store/` | the stores | `error` |', { store: ['error'], time: ['error'] }],
    ['misses an import', '| `store/` | the stores | `error` |', { store: ['error', 'async'] }],
    ['has an import too many', '| `store/` | the stores | `error` `time` |', { store: ['error'] }],
  ])('is found to be wrong if it %s', (_, table, allowed) => {
    expect(foldersOf(`${table}\n`)).not.toEqual(allowed)
  })
})

/** The folders of the table, each with what its last column names. */
function foldersOf(text: string): Record<string, readonly string[]> {
  const rows = text.matchAll(/^\| `(\w+)\/` +\|.*\|([^|]*)\|$/gm)
  return Object.fromEntries(Array.from(rows, ([, folder, imports]) => [folder!, wordsOf(imports!, '`')]))
}

/** The object `allowed` in the source text of the import test. */
function allowedIn(text: string): Record<string, readonly string[]> {
  const [, body] = /^const allowed\b[^\n]*\{\n(.*?)^\}/ms.exec(text)!
  const lines = body!.matchAll(/^ {2}(\w+): \[([^\]]*)\]/gm)
  return Object.fromEntries(Array.from(lines, ([, folder, imports]) => [folder!, wordsOf(imports!, "'")]))
}

function wordsOf(text: string, quote: string): string[] {
  return Array.from(text.matchAll(new RegExp(`${quote}(\\w+)${quote}`, 'g')), ([, word]) => word!)
}

function read(file: string): string {
  return readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), 'utf8')
}
