import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8')
const guides = readdirSync(path.join(root, 'docs/guides')).filter((file) => file.endsWith('.md'))

/** Programs that a test or `npm run compat` runs, and the comments whose code `test/house/snippets` compiles. */
const sources = [
  ...readdirSync(path.join(root, 'examples'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => read(`examples/${file}`)),
  read('scripts/compat/nest-app.ts'),
  read('src/orm/index.ts').replaceAll(/^ \* ?/gm, ''),
].map(unindented)

/** The snippets of a page in a language. */
function snippetsIn(page: string, language: string): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm'))].map(([, text]) => text!)
}

/** Whether a snippet is a part of a program that runs. Gaps between its parts are empty lines. */
function isExcerpt(snippet: string): boolean {
  const parts = unindented(snippet).split('\n\n')
  return sources.some((source) => parts.every((part) => source.includes(part.trim())))
}

function unindented(text: string): string {
  return text.replaceAll(/^[ \t]+/gm, '')
}

describe('the guides', () => {
  it.each(guides)('show in %s only code of programs that run', (guide) => {
    const snippets = snippetsIn(read(`docs/guides/${guide}`), 'ts')
    expect(snippets.filter((snippet) => !isExcerpt(snippet))).toEqual([])
  })

  it('have code that no program has found', () => {
    expect(isExcerpt("await timers.set(remind, 'planted', { in: '1s' })\n")).toBe(false)
  })

  it('are listed on their index page', () => {
    const index = read('docs/guides/README.md')
    const missing = guides.filter((guide) => guide !== 'README.md' && !index.includes(`(${guide})`))
    expect(missing).toEqual([])
  })
})

describe('the tutorial docs/start.md', () => {
  const files = ['reminders.ts', 'reminders.test.ts', 'main.ts']
  let folder = ''

  beforeAll(() => {
    mkdirSync(path.join(root, '.carillon'), { recursive: true })
    // Inside the repository, where Node finds the package by its name.
    folder = mkdtempSync(path.join(root, '.carillon', 'start-'))
    const snippets = snippetsIn(read('docs/start.md'), 'ts')
    // Twenty seconds are long for a test.
    for (const [index, file] of files.entries())
      writeFileSync(path.join(folder, file), snippets[index]!.replace("{ in: '20s' }", "{ in: '1s' }"))
  })

  afterAll(() => {
    rmSync(folder, { recursive: true, force: true })
  })

  it('has code that compiles', () => {
    expect(snippetsIn(read('docs/start.md'), 'ts')).toHaveLength(files.length)
    writeFileSync(path.join(folder, 'tsconfig.json'), snippetsIn(read('docs/start.md'), 'json')[0]!)
    const tsc = path.join(root, 'node_modules/typescript/bin/tsc')
    const { stdout, status } = spawnSync(process.execPath, [tsc], { cwd: folder, encoding: 'utf8' })
    expect({ stdout, status }).toEqual({ stdout: '', status: 0 })
  })

  it('has tests that pass', () => {
    const output = execFileSync(process.execPath, ['--test', 'out/'], { cwd: folder, encoding: 'utf8' })
    expect(output).toMatch(/^# pass 2$/m)
  })

  it('has a program whose reminder comes after the process was killed', async () => {
    const run = (...args: string[]) => spawn(process.execPath, ['out/main.js', ...args], { cwd: folder })
    const first = run('shop')
    await printed(first, 'kill this process')
    first.kill('SIGKILL')
    const second = run()
    await printed(second, 'to ada@example.org')
    const ended = new Promise((resolve) => second.once('exit', resolve))
    second.kill('SIGINT')
    expect(await ended).toBe(0)
  })
})

/** Waits until a process prints a text. */
async function printed(child: ReturnType<typeof spawn>, text: string): Promise<void> {
  let output = ''
  for await (const chunk of child.stdout!) {
    output += String(chunk)
    if (output.includes(text)) return
  }
  throw new Error(`the process ended without ${JSON.stringify(text)}: ${output}`)
}
