import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Ended, PackedProject, root } from './packed.js'

// A sample of `npm run compat`, which tries every combination: npm, strict about engines, beside an old `redis`.

interface Manifest {
  readonly main: string
  readonly types: string
  readonly typesVersions: { readonly '*': Readonly<Record<string, readonly string[]>> }
  readonly exports: Readonly<Record<string, { readonly types: string } | string>>
}

const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as Manifest

let project: PackedProject
let installed: Ended

beforeAll(() => {
  project = new PackedProject()
  installed = project.install(project.tarball, 'lmdb@3.5', 'redis@4', 'esbuild@0.28')
})

afterAll(() => project.remove())

describe('the package, installed beside redis@4 with engine-strict', () => {
  it('installs without a complaint about peers or engines', () => {
    expect(installed.stderr).not.toMatch(/ERESOLVE|EBADENGINE/)
    expect(installed.status).toBe(0)
  })

  it('fires a timer of a file store', () => {
    expect(project.evaluate(firing('file:./timers'))).toMatchObject({ stdout: 'fired\n', stderr: '' })
  })

  it('refuses a driver that is too old with the versions that it supports', () => {
    const { stdout } = project.evaluate(opening('redis://127.0.0.1:1'))
    expect(stdout).toMatch(/^driver-unsupported: .*version 5\.1 or later/)
  })

  it('says which driver is missing', () => {
    expect(project.evaluate(opening('postgres://127.0.0.1:1/a')).stdout).toMatch(
      /^driver-missing: .*npm install pg/,
    )
    const lmdb = project.at('node_modules/lmdb')
    renameSync(lmdb, `${lmdb}-away`)
    try {
      expect(project.evaluate(opening('file:./others')).stdout).toMatch(/^driver-missing: .*npm install lmdb/)
    } finally {
      renameSync(`${lmdb}-away`, lmdb)
    }
    const binaries = project.at('node_modules/@lmdb')
    renameSync(binaries, `${binaries}-away`)
    try {
      expect(project.evaluate(opening('file:./others')).stdout).toMatch(/^driver-missing: .*cannot be loaded/)
    } finally {
      renameSync(`${binaries}-away`, binaries)
    }
  })

  it('says in one line what a server needs, and runs the commands that need no server', () => {
    const command = project.at('node_modules/.bin/carillon')
    const served = project.run(command, ['serve'])
    expect(served.status).toBe(1)
    expect(served.stderr).toMatch(/^carillon: .*npm install fastify@5 .*\(package-missing\)\n$/)
    expect(project.run(command, ['--version'])).toMatchObject({ status: 0, stderr: '' })
    const started = project.evaluate(
      `import { Server } from 'carillon/server'
       await Server.start({ store: 'memory:' }).catch((error) => console.log(error.code))`,
    )
    expect(started.stdout).toBe('package-missing\n')
  })

  it('can be bundled although pg is not installed, and the bundle fires a timer', () => {
    project.write('entry.mjs', firing('file:./bundled'))
    const esbuild = project.at('node_modules/esbuild/bin/esbuild')
    for (const format of ['esm', 'cjs'] as const) {
      const out = `bundle.${format === 'esm' ? 'mjs' : 'cjs'}`
      const args = [
        '--bundle',
        '--platform=node',
        `--format=${format}`,
        `--outfile=${out}`,
        '--log-level=error',
      ]
      // The entry awaits at its top level, which a CommonJS file cannot do.
      const entry = format === 'esm' ? 'entry.mjs' : 'entry.cjs'
      if (format === 'cjs') project.write(entry, `(async () => {${firing('file:./in-cjs', 'require')}})()`)
      expect(project.run(esbuild, [entry, ...args])).toMatchObject({ stderr: '', status: 0 })
      expect(project.node(out)).toMatchObject({ stdout: 'fired\n', status: 0 })
    }
  })

  it('has links in its documents only to files that it contains', () => {
    const folder = project.at('node_modules/carillon')
    const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.md'),
    )
    expect(pages.length).toBeGreaterThan(30)
    const dead = pages.flatMap((page) => {
      const text = readFileSync(path.join(folder, page), 'utf8')
      const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, to]) => to!)
      const missing = links.filter((link) => !existsSync(path.resolve(folder, path.dirname(page), link)))
      return missing.map((link) => `${page} -> ${link}`)
    })
    expect(dead).toEqual([])
  })
})

describe('package.json', () => {
  it('has entry points for tools that do not read `exports`', () => {
    expect(existsSync(path.join(root, manifest.main))).toBe(true)
    expect(existsSync(path.join(root, manifest.types))).toBe(true)
    const declared = Object.entries(manifest.exports).flatMap(([subpath, target]) =>
      typeof target === 'string' || subpath === '.' ? [] : [[subpath.slice(2), [target.types]]],
    )
    expect(manifest.typesVersions['*']).toEqual(Object.fromEntries(declared))
  })
})

/** A program that prints `fired` when a timer of the store has fired. */
function firing(store: string, load: 'import' | 'require' = 'import'): string {
  const names = '{ openTimers, timer }'
  return `${load === 'import' ? `import ${names} from 'carillon'` : `const ${names} = require('carillon')`}
const timers = await openTimers({ store: '${store}' })
const remind = timer('remind')
await new Promise((resolve) => {
  timers.handle(remind, resolve)
  void timers.start().then(() => timers.set(remind, 'a', { in: 0 }))
})
await timers.stop()
console.log('fired')
`
}

/** A program that prints the code and the message of the error that opening gives. */
function opening(store: string): string {
  return `import { openStore } from 'carillon'
await openStore('${store}').catch((error) => console.log(error.code + ': ' + error.message))
`
}
