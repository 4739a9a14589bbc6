import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PackedProject, root } from './packed.js'

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

let project: PackedProject

beforeAll(() => {
  project = new PackedProject()
})

afterAll(() => project.remove())

describe('the package', () => {
  it('installs into an empty TypeScript project, compiles against it and runs', () => {
    for (const file of project.files)
      expect(file).toMatch(
        /^(dist|docs|deploy|examples)\/|^(package\.json|README\.md|LICENSE|CHANGELOG\.md|CONTRIBUTING\.md|SECURITY\.md|bench\/README\.md)$/,
      )
    expect(project.install(project.tarball)).toMatchObject({ status: 0 })
    const lock = readFileSync(project.at('node_modules/.package-lock.json'), 'utf8')
    const { packages } = JSON.parse(lock) as { packages: Record<string, unknown> }
    // A user pays for no driver and no server that are not used.
    expect(Object.keys(packages)).toEqual(['node_modules/carillon', 'node_modules/undici'])
    project.write('program.ts', program)
    project.write(
      'tsconfig.json',
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
    expect(project.node(path.join(root, 'node_modules/typescript/bin/tsc'))).toMatchObject({
      stdout: '',
      status: 0,
    })
    expect(project.node('program.js')).toMatchObject({ stdout: 'passed\n', status: 0 })
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

function run(cwd: string, args: string[]): string {
  return execFileSync(process.execPath, args, { cwd, encoding: 'utf8' })
}
