import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const subpaths = Object.keys(
  (JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { exports: Record<string, unknown> })
    .exports,
).filter((subpath) => subpath !== './package.json')

const program = `import assert from 'node:assert'
import { TimingWheel, parseDuration, VirtualClock, CarillonError } from 'carillon'
import { systemClock, type Clock } from 'carillon/time'
import { Wheel, type Handle } from 'carillon/wheel'
import { ExpiringCache } from 'carillon/cache'

const clock: Clock = new VirtualClock()
const wheel = new Wheel()
const handle: Handle = wheel.set(5, 42)
const tokens: number[] = []
wheel.advance(10, (token: number) => tokens.push(token))
assert.deepEqual(tokens, [42])
assert.equal(wheel.cancel(handle), false)
const keyed = new TimingWheel<string, { n: number }>({ intervalMs: 1, execute: (key, value) => void [key, value.n], clock })
keyed.set('a', { n: 1 }, '5m')
const cache = new ExpiringCache<string, number>({ ttl: '1m', clock })
cache.set('a', parseDuration('1h30m'))
assert.equal(cache.get('a'), 5_400_000)
assert.ok(systemClock.now() > 0)
assert.throws(() => parseDuration('5 parsecs'), (error) => error instanceof CarillonError && error.code === 'invalid-duration')
// @ts-expect-error the value must have an n
keyed.set('b', {}, 5)
keyed.stop()
cache.stop()
console.log('passed')
`

let folder = ''

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'carillon-package-'))
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

describe('the package', () => {
  it('installs into an empty TypeScript project, compiles against it and runs', () => {
    const packed = npm(root, ['pack', '--json', '--ignore-scripts', '--pack-destination', folder])
    const [{ filename, files }] = JSON.parse(packed) as [{ filename: string; files: { path: string }[] }]
    for (const file of files)
      expect(file.path).toMatch(/^(dist|docs)\/|^(package\.json|README\.md|LICENSE|CHANGELOG\.md)$/)
    writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
    npm(folder, ['install', '--no-audit', '--no-fund', `./${filename}`])
    writeFileSync(path.join(folder, 'program.ts'), program)
    writeFileSync(
      path.join(folder, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          module: 'nodenext',
          target: 'es2023',
          lib: ['es2023'],
          strict: true,
          exactOptionalPropertyTypes: true,
          types: ['node'],
          typeRoots: [path.join(root, 'node_modules/@types')],
        },
        files: ['program.ts'],
      }),
    )
    run(folder, [path.join(root, 'node_modules/typescript/bin/tsc')])
    expect(run(folder, ['program.js'])).toBe('passed\n')
  })

  it('resolves every subpath from inside the repository', () => {
    const lines = subpaths.map((subpath) => {
      const name = path.posix.join('carillon', subpath)
      return `assert.ok(Object.keys(await import('${name}')).length > 0, '${name}')`
    })
    const code = `import assert from 'node:assert'\n${lines.join('\n')}\nconsole.log('${subpaths.length} resolved')`
    expect(run(root, ['--input-type=module', '-e', code])).toBe(`${subpaths.length} resolved\n`)
    expect(subpaths).toContain('./wheel')
  })
})

function npm(cwd: string, args: string[]): string {
  return execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
}

function run(cwd: string, args: string[]): string {
  return execFileSync(process.execPath, args, { cwd, encoding: 'utf8' })
}
