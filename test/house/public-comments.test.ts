import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const src = fileURLToPath(new URL('../../src', import.meta.url))
const manifest = JSON.parse(readFileSync(path.join(src, '../package.json'), 'utf8')) as {
  exports: Record<string, unknown>
}
const entries = Object.keys(manifest.exports)
  .filter((subpath) => subpath !== './package.json')
  .map((subpath) => path.posix.join(subpath, 'index.ts'))

/** What people call: its comment has an example. */
const withExample = [
  'openTimers',
  'timer',
  'testTimers',
  'fromDrizzle',
  'fromKysely',
  'fromKnex',
  'fromPrisma',
  'fromTypeOrm',
  'fromMikroOrm',
  'fromPostgresJs',
  'Timer',
  'TransactionConnection',
  'webhook',
  'lease',
  'cron',
  'every',
  'daily',
  'weekly',
  'monthly',
  'yearly',
  'rrule',
]

/** A name that a file exports, and the comment above it; undefined if there is none. */
interface Exported {
  readonly name: string
  readonly file: string
  readonly comment: string | undefined
}

/** What a file exports, also what it passes on from others. */
function exportsOf(file: string, wanted?: ReadonlySet<string>): Exported[] {
  const text = readFileSync(path.join(src, file), 'utf8')
  const found: Exported[] = []
  const declared =
    /^export (?:declare )?(?:abstract )?(?:async )?(?:class|function\*?|interface|type|const) (\w+)/gm
  for (const { 1: name, index } of text.matchAll(declared)) {
    if (wanted !== undefined && !wanted.has(name!)) continue
    found.push({ name: name!, file, comment: commentBefore(text.slice(0, index)) })
  }
  for (const [, names, from] of text.matchAll(/^export (?:type )?(\*|\{[^}]*\}) from '(\.[^']+)'/gm)) {
    const target = path.posix.join(path.posix.dirname(file), from!.replace(/\.js$/, '.ts'))
    if (!existsSync(path.join(src, target))) continue
    const passed = names === '*' ? wanted : namesIn(names!, wanted)
    found.push(...exportsOf(target, passed))
  }
  return found
}

function namesIn(list: string, wanted: ReadonlySet<string> | undefined): ReadonlySet<string> {
  const names = list
    .slice(1, -1)
    .split(',')
    .map(
      (each) =>
        each
          .replace(/^\s*type\s/, '')
          .trim()
          .split(' as ')[0]!,
    )
  return new Set(names.filter((name) => wanted?.has(name) ?? true))
}

/** The comment that ends right before a declaration; overloads share the comment of the first. */
function commentBefore(before: string): string | undefined {
  return /\/\*\*(?:[^*]|\*(?!\/))*\*\/\s*$/.exec(before)?.[0]
}

const all = entries.flatMap((entry) => exportsOf(entry))

describe('the public names', () => {
  it('have a comment each', () => {
    expect(all.length).toBeGreaterThan(200)
    const commented = new Set(
      all.filter(({ comment }) => comment !== undefined).map(({ name, file }) => `${file}: ${name}`),
    )
    const bare = all.map(({ name, file }) => `${file}: ${name}`).filter((name) => !commented.has(name))
    expect([...new Set(bare)].toSorted()).toEqual([])
  })

  it('that people call have an example in their comment', () => {
    const without = withExample.filter(
      (name) => !all.some((each) => each.name === name && each.comment?.includes('@example') === true),
    )
    expect(without).toEqual([])
  })

  it('would be found without a comment', () => {
    expect(commentBefore('/** It counts. */\n')).toBe('/** It counts. */\n')
    expect(commentBefore('/** It counts. */\nexport const a = 1\n')).toBeUndefined()
    expect(readdirSync(src).length).toBeGreaterThan(10)
  })
})
