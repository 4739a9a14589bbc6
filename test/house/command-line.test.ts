import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { runCli } from '../cli/run-cli.js'

const page = readFileSync(new URL('../../docs/command-line.md', import.meta.url), 'utf8')

describe('docs/command-line.md', () => {
  it('has every command in its table', async () => {
    const { out } = await runCli(['--help'])
    const names = Array.from(out.matchAll(/^ {2}([\w-]+) {2,}/gm), ([, name]) => name!)
    expect(names.length).toBeGreaterThan(15)
    const documented = commandsOf(page)
    expect(names.filter((name) => !documented.includes(name))).toEqual([])
  })

  it('is read cell by cell: a name elsewhere on the page does not count', () => {
    const table = '| `get`, `cancel <key>` | shows what `planted` does |\n\n`other` is named below.\n'
    expect(commandsOf(table)).toEqual(['get', 'cancel'])
  })
})

/** The first words in backticks in the first column of the tables. */
function commandsOf(text: string): string[] {
  const cells = Array.from(text.matchAll(/^\| ((?:`(?:[^`\\]|\\.)*`(?:, | or )?)+)/gm), ([, cell]) => cell!)
  return cells.flatMap((cell) => Array.from(cell.matchAll(/`([\w-]+)[^`]*`/g), ([, name]) => name!))
}
