import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const src = fileURLToPath(new URL('../../src', import.meta.url))

/** Which rooms each room may import. `error` is the ground under all of them. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  error: [],
  time: ['error'],
  wheel: ['error', 'time'],
  cache: ['error', 'time', 'wheel'],
  schedule: ['error', 'time'],
  timer: ['error', 'time'],
  store: ['error', 'time', 'timer'],
  engine: ['error', 'time', 'wheel', 'timer', 'store'],
  webhooks: ['error', 'time'],
  delivery: ['error', 'time', 'wheel', 'schedule', 'timer', 'webhooks'],
  client: ['error', 'time', 'timer'],
  front: ['error', 'time', 'schedule', 'timer', 'store', 'engine', 'delivery', 'client'],
  server: ['error', 'time', 'cache', 'schedule', 'timer', 'store', 'engine', 'delivery', 'front'],
  cli: ['error', 'time', 'schedule', 'store', 'server'],
  testing: ['error', 'time', 'timer', 'store', 'engine', 'delivery', 'front'],
}

/** Packages a part of the house may import, Node's own included; the others need none. */
const packages: readonly (readonly [part: string, specifier: RegExp])[] = [
  [
    'server/',
    /^(?:node:(?:crypto|perf_hooks|stream|string_decoder)|fastify|pino|@sinclair\/typebox(?:\/compiler|\/value)?)$/,
  ],
  ['server/peers/', /^(?:node:os|undici)$/],
  ['cli/', /^(?:node:(?:fs|readline|util)|pino)$/],
  ['front/tracing.ts', /^@opentelemetry\/api$/],
  ['testing/', /^node:assert\/strict$/],
  ['store/redis/', /^(redis|node:crypto)$/],
  ['store/postgres/', /^(pg|node:(buffer|timers))$/],
  ['webhooks/', /^node:crypto$/],
  ['delivery/lease/', /^node:crypto$/],
  ['delivery/webhook/', /^(?:node:(?:crypto|dns|net)|undici)$/],
  ['store/file/', /^node:(buffer|crypto|fs|fs\/promises|module|os|path|timers)$/],
]

/** Files that keep a stricter rule than their room: the wheel itself knows no clock. */
const stricter: Readonly<Record<string, readonly string[]>> = {
  'wheel/wheel.ts': ['error'],
  'wheel/key-table.ts': [],
}

describe('the house', () => {
  it('has imports that run one way', () => {
    expect(violations(src)).toEqual([])
  })

  it('has no room without a rule', () => {
    const rooms = readdirSync(src, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    expect(rooms.map((room) => room.name).toSorted()).toEqual(Object.keys(allowed).toSorted())
  })

  it('reads the clock only in time/', () => {
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
  ])('would notice a violation planted in %s', (file, line) => {
    const house = mkdtempSync(path.join(tmpdir(), 'carillon-house-'))
    try {
      mkdirSync(path.join(house, path.dirname(file)))
      writeFileSync(path.join(house, file), `${line}\n`)
      expect(violations(house)).toHaveLength(1)
    } finally {
      rmSync(house, { recursive: true })
    }
  })
})

function violations(root: string): string[] {
  return files(root).flatMap((file) => {
    const room = file.includes('/') ? file.slice(0, file.indexOf('/')) : undefined
    // The front door itself may open on every room.
    const rooms = room === undefined ? Object.keys(allowed) : (stricter[file] ?? allowed[room] ?? [])
    return specifiers(readFileSync(path.join(root, file), 'utf8')).flatMap((specifier) => {
      if (!specifier.startsWith('.')) {
        const isAllowed = packages.some(([part, name]) => file.startsWith(part) && name.test(specifier))
        return isAllowed ? [] : [`${file} imports the package ${specifier}`]
      }
      const target = path.posix.join(path.posix.dirname(file), specifier)
      const targetRoom = target.slice(0, target.indexOf('/'))
      if (targetRoom === room) return []
      if (!rooms.includes(targetRoom)) return [`${file} imports ${target}, which its room must not`]
      return target === `${targetRoom}/index.js`
        ? []
        : [`${file} enters ${targetRoom} past its index: ${target}`]
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
