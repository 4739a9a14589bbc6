import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const src = fileURLToPath(new URL('../../src', import.meta.url))

/** The folders of src/ that each folder may import. All may import `error`. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  error: [],
  time: ['error'],
  async: ['error', 'time'],
  wheel: ['error', 'time'],
  cache: ['error', 'time', 'wheel'],
  parallel: ['error', 'time', 'async', 'wheel'],
  schedule: ['error', 'time'],
  timer: ['error', 'time'],
  store: ['error', 'time', 'async', 'timer'],
  engine: ['error', 'time', 'async', 'wheel', 'timer', 'store'],
  orm: ['error', 'store'],
  nest: ['error', 'delivery', 'front'],
  webhooks: ['error', 'time'],
  delivery: ['error', 'time', 'async', 'wheel', 'schedule', 'timer', 'webhooks'],
  client: ['error', 'time', 'async', 'timer'],
  front: ['error', 'time', 'async', 'parallel', 'schedule', 'timer', 'store', 'engine', 'delivery', 'client'],
  server: ['error', 'time', 'async', 'cache', 'schedule', 'timer', 'store', 'engine', 'delivery', 'front'],
  cli: ['error', 'time', 'schedule', 'store', 'server'],
  testing: ['error', 'time', 'async', 'timer', 'store', 'engine', 'delivery', 'front'],
}

/** The packages that a part of src/ may import, including Node's own. The other parts need none. */
const packages: readonly (readonly [part: string, specifier: RegExp])[] = [
  [
    'server/',
    /^(?:node:(?:crypto|perf_hooks|stream|string_decoder|url)|fastify|pino|@sinclair\/typebox(?:\/compiler|\/value)?)$/,
  ],
  ['server/peers/', /^(?:node:os|undici)$/],
  ['server/monitor/', /^node:fs$/],
  ['server/views/', /^node:os$/],
  ['server/page/', /^node:(?:fs|http|zlib)$/],
  ['server/server-options.ts', /^node:http$/],
  ['cli/', /^(?:node:(?:fs|readline|util)|pino)$/],
  ['front/event/tracing.ts', /^@opentelemetry\/api$/],
  ['parallel/', /^node:(?:process|url|worker_threads)$/],
  ['testing/', /^node:assert\/strict$/],
  ['store/redis/', /^(redis|node:crypto)$/],
  ['store/postgres/', /^(pg|node:(buffer|timers))$/],
  ['nest/', /^@nestjs\/core$/],
  ['webhooks/', /^node:crypto$/],
  ['delivery/thread/', /^node:worker_threads$/],
  ['delivery/lease/', /^node:crypto$/],
  ['delivery/webhook/', /^(?:node:(?:crypto|dns|dns\/promises|fs|net)|undici)$/],
  ['store/file/', /^node:(buffer|crypto|fs|fs\/promises|module|os|path|timers|zlib)$/],
]

/** Files with a stricter rule than their folder: the wheel itself knows no clock. */
const stricter: Readonly<Record<string, readonly string[]>> = {
  'wheel/wheel.ts': ['error'],
  'wheel/key-table.ts': [],
}

describe('the folders of src/', () => {
  it('import each other in one direction only, and through their index', () => {
    expect(violations(src)).toEqual([])
  })

  it('all have a rule in this test', () => {
    const folders = readdirSync(src, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    expect(folders.map((folder) => folder.name).toSorted()).toEqual(Object.keys(allowed).toSorted())
  })

  it('read the clock of the machine only in time/', () => {
    const readings = files(src).filter(
      (file) =>
        !file.startsWith('time/') &&
        /\bDate\.now\(|\bperformance\.now\(|\bset(Timeout|Interval|Immediate)\(|\bnew Date\(\)/.test(
          readFileSync(path.join(src, file), 'utf8'),
        ),
    )
    expect(readings).toEqual([])
  })

  it.each([
    ['time/planted.ts', "import { Wheel } from '../wheel/index.js'"],
    ['wheel/wheel.ts', "import type { Clock } from '../time/index.js'"],
    ['wheel/planted.ts', "export * from '../cache/index.js'"],
    ['error/planted.ts', "const wheel = await import('../wheel/index.js')"],
    ['cache/planted.ts', "import { KeyTable } from '../wheel/key-table.js'"],
    ['time/planted.ts', "import fs from 'node:fs'"],
  ])('have a violation found that is planted in %s: %s', (file, line) => {
    const planted = mkdtempSync(path.join(tmpdir(), 'carillon-imports-'))
    try {
      mkdirSync(path.join(planted, path.dirname(file)))
      writeFileSync(path.join(planted, file), `${line}\n`)
      expect(violations(planted)).toHaveLength(1)
    } finally {
      rmSync(planted, { recursive: true })
    }
  })
})

function violations(root: string): string[] {
  return files(root).flatMap((file) => {
    const folder = file.includes('/') ? file.slice(0, file.indexOf('/')) : undefined
    // src/index.ts may import every folder.
    const folders = folder === undefined ? Object.keys(allowed) : (stricter[file] ?? allowed[folder] ?? [])
    return specifiers(readFileSync(path.join(root, file), 'utf8')).flatMap((specifier) => {
      if (!specifier.startsWith('.')) {
        const isAllowed = packages.some(([part, name]) => file.startsWith(part) && name.test(specifier))
        return isAllowed ? [] : [`${file} imports the package ${specifier}`]
      }
      const target = path.posix.join(path.posix.dirname(file), specifier)
      const targetFolder = target.slice(0, target.indexOf('/'))
      if (targetFolder === folder) return []
      if (!folders.includes(targetFolder)) return [`${file} must not import ${target}`]
      return target === `${targetFolder}/index.js`
        ? []
        : [`${file} must import ${targetFolder}/index.js instead of ${target}`]
    })
  })
}

function specifiers(text: string): string[] {
  const statements = /^(?:import|export|\}).*\bfrom '([^']+)'$|^import '([^']+)'$|\bimport\('([^']+)'\)/gm
  return [...text.matchAll(statements)].map((match) => match[1] ?? match[2] ?? match[3]!)
}

function files(root: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'))
}
