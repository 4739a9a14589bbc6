// npm run docs: builds the documentation site from docs/, examples/ and the comments of the public API. Its packages have a
// lock file of their own in site/, so that the other commands do not need them.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { leftOut, sections } from '../site/pages.mjs'
import { built } from './ready.mjs'

const usage = `usage: npm run docs -- [options]

  --serve       serve the built site on http://127.0.0.1:4173
  --no-api      leave out the API reference, which takes most of the time
  --help        print this

Writes the site to site/dist. CARILLON_SITE_BASE is the path under which it will be served, such as /carillon/.
`

const { values } = parseArgs({
  options: {
    serve: { type: 'boolean' },
    'no-api': { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
})
if (values.help) {
  process.stdout.write(usage)
  process.exit()
}

const root = fileURLToPath(new URL('..', import.meta.url))
const site = path.join(root, 'site')
const pages = path.join(site, '.pages')

if (!existsSync(path.join(site, 'node_modules/vitepress'))) {
  process.stderr.write('docs: installing the packages of the site\n')
  run('npm', ['ci', '--no-audit', '--no-fund'])
}
rmSync(pages, { recursive: true, force: true })
mkdirSync(pages, { recursive: true })
copyDocs()
writeExamples()
writePage('changelog.md', read('CHANGELOG.md'))
writePage('bench.md', read('bench/README.md'))
if (!values['no-api']) {
  await built()
  writeApi()
}
writeFrontPage()
const vitepress = path.join(site, 'node_modules/vitepress/bin/vitepress.js')
run(process.execPath, [vitepress, 'build', '.'])
writeForModels()
process.stderr.write('docs: the site is in site/dist\n')
if (values.serve) run(process.execPath, [vitepress, 'preview', '.', '--port', '4173', '--host', '127.0.0.1'])

/** Every page of docs/, with links that a site can follow. A README becomes the index of its folder. */
function copyDocs() {
  for (const file of markdownIn('docs'))
    writePage(file.replace(/README\.md$/, 'index.md'), read(`docs/${file}`))
}

/** Links from docs/ to files that are no pages lead to the pages that show them. */
function writePage(file, text) {
  const target = path.join(pages, file)
  mkdirSync(path.dirname(target), { recursive: true })
  const linked = text
    .replaceAll(/\]\((?:\.\.\/)+examples\/([\w-]+)\.ts\)/g, '](/examples/$1)')
    .replaceAll(/\]\((?:\.\.\/)+bench\/README\.md\)/g, '](/bench)')
    .replaceAll(/\]\((?:\.\.\/)+(CHANGELOG)\.md\)/g, '](/changelog)')
    .replaceAll(/\]\((?:\.\.\/)+(SECURITY|CONTRIBUTING)\.md\)/g, '](/support)')
    .replaceAll(/\[([^\]]+)\]\((?:\.\.\/)+(?:deploy|src|test|examples)[^)]*\)/g, '$1')
    .replaceAll(/\]\((?:docs\/)([^)]+)\)/g, '](/$1)')
    .replaceAll(/README\.md/g, 'index.md')
  writeFileSync(target, linked)
}

/** A page for each example, so that the site has the code that its pages talk about. */
function writeExamples() {
  const names = readdirSync(path.join(root, 'examples')).filter((file) => file.endsWith('.ts'))
  for (const file of names) {
    const name = file.replace(/\.ts$/, '')
    const folder = path.join(root, 'examples', name)
    const parts = existsSync(folder) ? readdirSync(folder).filter((part) => part.endsWith('.ts')) : []
    const listings = [file, ...parts.map((part) => `${name}/${part}`)].map(
      (each) => `\`examples/${each}\`\n\n\`\`\`ts\n${read(`examples/${each}`)}\`\`\`\n`,
    )
    writePage(`examples/${name}.md`, `# Example: ${name}\n\n${listings.join('\n')}`)
  }
}

/** The API reference, from the comments in the declaration files of each subpath. */
function writeApi() {
  const { exports } = JSON.parse(read('package.json'))
  const entries = Object.values(exports).flatMap(({ types }) =>
    types === undefined ? [] : [path.join(root, types)],
  )
  const typedoc = path.join(site, 'node_modules/typedoc/bin/typedoc')
  const configuration = path.join(site, 'tsconfig.api.json')
  run(process.execPath, [
    typedoc,
    '--tsconfig',
    configuration,
    '--plugin',
    'typedoc-plugin-markdown',
    '--out',
    path.join(pages, 'api'),
    '--readme',
    'none',
    '--name',
    'API',
    '--disableSources',
    '--hideBreadcrumbs',
    '--excludePrivate',
    '--excludeProtected',
    '--excludeInternal',
    '--skipErrorChecking',
    '--logLevel',
    'Error',
    '--entryFileName',
    'index',
    ...entries.flatMap((entry) => ['--entryPoints', entry]),
  ])
}

function writeFrontPage() {
  const readme = read('README.md')
  const snippet = /```ts\n[^]*?```/.exec(readme)[0]
  const install = /npm install carillon[^`\n]*/.exec(readme)[0]
  writeFileSync(
    path.join(pages, 'index.md'),
    `---
layout: home
hero:
  name: Carillon
  text: Durable timers for TypeScript
  tagline: Set a timer. It is stored, it fires at its time, and once settled it never fires again.
  actions:
    - { theme: brand, text: Your first reminder, link: /start }
    - { theme: alt, text: Why, and when not, link: /why }
features:
  - { title: From memory to a cluster, details: 'One API on memory, a local file, PostgreSQL or Redis. From one process to many.', link: /choosing }
  - { title: Move and cancel by key, details: 'A timer has a name that you choose. Set it again, move it, cancel it, and get a truthful answer.', link: /guides/reminders }
  - { title: Schedules in every zone, details: 'Cron, calendar rules and the 31st, with stated rules for daylight saving and February.', link: /schedules }
  - { title: Tests without waiting, details: 'Virtual time passes two weeks in a millisecond.', link: /guides/testing }
  - { title: In your transaction, details: 'The order and its timer, or neither: with seven libraries.', link: /guides/transactions }
  - { title: Proven, details: '21 promises, checked by a simulator, by mutants and by killed processes.', link: /protocol }
---

## In one minute

\`\`\`sh
${install}
\`\`\`

${snippet}
`,
  )
}

/** llms.txt: a list of the pages for language models, and beside each page its text as it is in docs/. */
function writeForModels() {
  const out = path.join(site, 'dist')
  const list = sections
    .map(({ text, pages: listed }) => {
      const lines = listed
        .filter(([, page]) => existsSync(path.join(root, 'docs', `${page}.md`)))
        .map(([title, page]) => `- [${title}](/${page.replace(/README$/, 'index')}.md): ${summaryOf(page)}`)
      return `## ${text}\n\n${lines.join('\n')}`
    })
    .join('\n\n')
  const about =
    'A durable timer engine for TypeScript: set a timer, it is stored, it fires at its time, and once settled it never fires again. It runs on memory, a local file, PostgreSQL or Redis.'
  writeFileSync(path.join(out, 'llms.txt'), `# Carillon\n\n> ${about}\n\n${list}\n`)
  for (const file of markdownIn('docs')) {
    if (file.startsWith('decisions/') || file.startsWith('measurements/')) continue
    const target = path.join(out, file.replace(/README\.md$/, 'index.md'))
    mkdirSync(path.dirname(target), { recursive: true })
    cpSync(path.join(root, 'docs', file), target)
  }
}

/** The first sentence of a page. */
function summaryOf(page) {
  const paragraph = read(`docs/${page}.md`)
    .split('\n\n')
    .find((part) => /^[A-Z`*"]/.test(part))
  const plain = (paragraph ?? '').replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1').replaceAll('\n', ' ')
  return plain.split(/(?<=[.:?!]) /)[0]
}

function markdownIn(folder) {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => file.endsWith('.md') && !leftOut.some((left) => file.startsWith(left)))
    .toSorted()
}

function read(file) {
  return readFileSync(path.join(root, file), 'utf8')
}

function run(command, args) {
  execFileSync(command, args, { cwd: site, stdio: ['ignore', 'inherit', 'inherit'] })
}
