import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

describe('the line "Proven by" of a comment in src/', () => {
  it('names only files that exist', () => {
    const cited = sources().flatMap((file) =>
      provingFiles(readFileSync(path.join(root, file), 'utf8')).map((named) => ({ file, named })),
    )
    expect(cited.length).toBeGreaterThan(100)
    expect(cited.filter(({ named }) => !existsSync(path.join(root, named)))).toEqual([])
  })

  it.each([
    ['/** It counts. Proven by test/a.test.ts. */', ['test/a.test.ts']],
    [
      ' * Proven by test/a.test.ts, test/b/c.test.ts and a mutant.\n */',
      ['test/a.test.ts', 'test/b/c.test.ts'],
    ],
    [' * Proven by test/a.test.ts and\n * test/b.test.ts.\n */', ['test/a.test.ts', 'test/b.test.ts']],
    [' * See test/a.test.ts.\n */', []],
  ])('is read from %j', (text, files) => {
    expect(provingFiles(text)).toEqual(files)
  })
})

/** The files that a source text names between "Proven by" and the end of the comment. */
function provingFiles(text: string): string[] {
  const lists = text.matchAll(/\bProven by\b(.*?)(?:\*\/|\n\s*\n|\n\s*[^\s*/])/gs)
  return Array.from(lists, ([, list]) =>
    Array.from(list!.matchAll(/\b(?:src|test)\/[\w./-]*\w/g), ([file]) => file),
  ).flat()
}

function sources(): string[] {
  return readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => `src/${file.split(path.sep).join('/')}`)
}
