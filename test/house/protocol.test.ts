import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { mutants } from '../engine/mutants.js'

const thisFile = 'test/house/protocol.test.ts'
const root = fileURLToPath(new URL('../../', import.meta.url))
const protocol = read('docs/protocol.md')

/** The page that explains the five documents. */
const documentsPage = 'docs/protocol.md'

/** Pages of measurements may cite the documents: they compare with their figures. */
const measurements = 'docs/measurements/'

describe('docs/protocol.md', () => {
  it('defines every rule and promise that src/, test/ and docs/ cite', () => {
    const unknown = texts('src', 'test', 'docs').flatMap(([file, text]) =>
      unknownNumbers(protocol, text).map((cited) => `${file} cites ${cited}`),
    )
    expect(unknown).toEqual([])
  })

  it('numbers rules and promises from 1 without a gap', () => {
    const defined = [...definedNumbers(protocol)]
    for (const word of ['rule', 'promise']) {
      const numbers = defined.filter((name) => name.startsWith(word))
      expect(numbers).toEqual(numbers.map((_, index) => `${word} ${index + 1}`))
    }
    expect(defined).toContain('rule 9')
    expect(defined).toContain('promise 15')
  })

  it.each([
    ['// As rule 90 says.', ['rule 90']],
    ['Only by rules 2 and 60.', ['rule 60']],
    ['It keeps promises 1 to 3, 99 and 4.', ['promise 99']],
  ])('a citation of an unknown number in %j is found', (text, unknown) => {
    expect(unknownNumbers(protocol, text)).toEqual(unknown)
  })

  it('cites only mutants that exist', () => {
    const names = mutants.map(({ name }) => name)
    expect(citedMutants(protocol).length).toBeGreaterThan(50)
    expect(unknownMutants(protocol, names)).toEqual([])
  })

  it.each([
    '- **Mutants:** `real`, `planted`.',
    '- **Mutants, time:** `planted`.',
    '- **Shown by:** `x.ts`, and the mutant `planted`.',
    '- **Shown by:** `x.ts`, and the mutants of rule 7, for example `planted`.',
  ])('a citation of a mutant that does not exist in %j is found', (line) => {
    expect(unknownMutants(`${line}\n`, ['real'])).toEqual(['planted'])
  })
})

describe('comments in src/ and test/', () => {
  it('cite only mutants that exist', () => {
    const names = new Set(mutants.map(({ name }) => name))
    const unknown = texts('src', 'test').flatMap(([file, text]) =>
      mutantsInComments(text)
        .filter((name) => !names.has(name))
        .map((name) => `${file} cites ${name}`),
    )
    expect(unknown).toEqual([])
  })

  it.each([
    [` * Proven by x.test.ts and the mutants 'a b', "c's" and 'd'.`, ['a b', "c's", 'd']],
    ["// Seeds do not meet this (mutant 'a\n// b'): it is rare.", ['a b']],
    ["    mutant: 'a b',", ['a b']],
  ])('finds the mutants cited in %j', (text, cited) => {
    expect(mutantsInComments(text)).toEqual(cited)
  })
})

describe('the pages for contributors', () => {
  const pages = texts('docs/contributing').filter(([file]) => file.endsWith('.md'))

  it('name only files in src/ and test/ that exist', () => {
    const all = [['docs/protocol.md', protocol], ['docs/glossary.md', read('docs/glossary.md')], ...pages]
    const missing = all.flatMap(([file, text]) =>
      missingPaths(text!, (named) => existsSync(path.join(root, named))).map((named) => `${file}: ${named}`),
    )
    expect(missing).toEqual([])
  })

  it('finds a named file that does not exist', () => {
    const text = 'See `src/engine/planted.ts`, test/planted/ and `src/store/store.ts`.'
    expect(missingPaths(text, (named) => named === 'src/store/store.ts')).toEqual([
      'src/engine/planted.ts',
      'test/planted/',
    ])
  })
})

describe('docs/decisions/README.md', () => {
  it('lists every decision in a row', () => {
    const decisions = readdirSync(path.join(root, 'docs/decisions')).filter((file) => file !== 'README.md')
    expect(unlisted(read('docs/decisions/README.md'), decisions)).toEqual([])
  })

  it('does not count a link in the row of another decision', () => {
    const index = '| [one](one.md) (2026-11-15) | It is so. | amended by [two](two.md) |\n'
    expect(unlisted(index, ['one.md', 'two.md'])).toEqual(['two.md'])
  })
})

describe('the five documents the project comes from', () => {
  it('are cited only on the page that explains them', () => {
    const citing = texts('src', 'test', 'docs').filter(([, text]) => citesDocument(text))
    expect(
      citing.map(([file]) => file).filter((file) => file !== documentsPage && !file.startsWith(measurements)),
    ).toEqual([])
  })

  it('are all explained there', () => {
    for (const number of ['000', '001', '002', '003', '004']) {
      expect(protocol).toContain(`**Document ${number}**`)
    }
  })

  it('are found in a comment', () => {
    expect(citesDocument("// As document 000's comprehensive view has it.")).toBe(true)
    expect(citesDocument('See `test/engine/document-000.test.ts`.')).toBe(false)
  })
})

/** The rules and promises that a page defines, by a heading or by the bold start of a list item. */
function definedNumbers(page: string): Set<string> {
  const definitions = page.matchAll(/^(?:### |- \*\*)(Rule|Promise) (\d+)[:.]/gm)
  return new Set(Array.from(definitions, ([, word, number]) => `${word!.toLowerCase()} ${number}`))
}

/** The rules and promises that `text` cites ("rule 3", "promises 1 to 4 and 9") and `page` does not define. */
function unknownNumbers(page: string, text: string): string[] {
  const defined = definedNumbers(page)
  const citations = text.matchAll(/\b(rule|promise)s? (\d{1,2}\b(?:(?:, | and | to )\d{1,2}\b)*)/gi)
  const cited = Array.from(citations, ([, word, numbers]) =>
    Array.from(numbers!.matchAll(/\d+/g), ([number]) => `${word!.toLowerCase()} ${number}`),
  )
  return cited.flat().filter((name) => !defined.has(name))
}

function unknownMutants(page: string, names: readonly string[]): string[] {
  return citedMutants(page).filter((name) => !names.includes(name))
}

/** The names in backticks after "Mutants" at the start of a list item, or after "mutant" in a line "Shown by". */
function citedMutants(page: string): string[] {
  const lists = page.matchAll(/^- \*\*Mutants[^:*]*:\*\*(.*)$/gm)
  const single = page.matchAll(/^- \*\*Shown by:\*\*.*?\bmutants?\b(.*)$/gm)
  return [...lists, ...single].flatMap(([, rest]) =>
    Array.from(rest!.matchAll(/`([^`]+)`/g), ([, name]) => name!),
  )
}

/** The quoted names after "mutant" or "mutants", also where the comment breaks the line within a name. */
function mutantsInComments(text: string): string[] {
  const joined = text.replaceAll(/\n\s*(?:\*|\/\/)\s+/g, ' ')
  const lists = joined.matchAll(/\bmutants?:? ((?:(?:'[^'\n]+'|"[^"\n]+")(?:, | and )?)+)/g)
  return Array.from(lists, ([, list]) =>
    Array.from(list!.matchAll(/'([^']+)'|"([^"]+)"/g), ([, single, double]) => single ?? double!),
  ).flat()
}

/** The files and folders in src/ and test/ that a page names and that do not exist. */
function missingPaths(page: string, exists: (file: string) => boolean): string[] {
  const named = page.matchAll(/(?<![\w/.-])(?:src|test)\/[\w./-]*[\w/]/g)
  return [...new Set(Array.from(named, ([file]) => file))].filter((file) => !exists(file))
}

/** The decisions that no row of the index begins with. */
function unlisted(index: string, decisions: readonly string[]): string[] {
  const listed = new Set(Array.from(index.matchAll(/^\| \[[^\]]+\]\(([^)]+)\)/gm), ([, file]) => file!))
  return decisions.filter((file) => !listed.has(file))
}

function citesDocument(text: string): boolean {
  return /\bdocuments? 00\d\b/i.test(text)
}

/** All source files and pages in these folders, except this file: it contains planted violations. */
function texts(...folders: readonly string[]): [file: string, text: string][] {
  return folders
    .filter((folder) => existsSync(path.join(root, folder)))
    .flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && /\.(?:ts|mjs|md)$/.test(entry.name))
        .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
        .map((file) => file.split(path.sep).join('/'))
        .filter((file) => file !== thisFile)
        .map((file): [string, string] => [file, read(file)]),
    )
}

function read(file: string): string {
  return readFileSync(path.join(root, file), 'utf8')
}
