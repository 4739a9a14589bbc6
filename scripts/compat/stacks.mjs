// The combinations with the libraries around a timer: ORMs, frameworks, and other runtimes than Node.js.
import { cpSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { firing, serving } from './programs.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** How each library of `carillon/orm` is tried: the way of test/orm/ways.mjs, and its packages. */
const orms = [
  { way: 'pg', packages: ['pg@8'] },
  { way: 'drizzle', packages: ['drizzle-orm@0.36', 'pg@8'] },
  { way: 'drizzle', packages: ['drizzle-orm@0.45', 'pg@8'] },
  { way: 'drizzle-postgres-js', packages: ['drizzle-orm@0.45', 'postgres@3', 'pg@8'] },
  { way: 'kysely', packages: ['kysely@0.27', 'pg@8'] },
  { way: 'kysely', packages: ['kysely@0.28', 'pg@8'] },
  { way: 'kysely', packages: ['kysely@0.29', 'pg@8'], node: 24 },
  { way: 'knex', packages: ['knex@2', 'pg@8'] },
  { way: 'knex', packages: ['knex@3', 'pg@8'] },
  // Its client comes from npm. Only commands that change a database need its engine, which does not.
  { way: 'prisma', packages: ['prisma@7', '@prisma/client@7', '@prisma/adapter-pg@7', 'pg@8'], node: 24 },
  { way: 'typeorm', packages: ['typeorm@0.3', 'reflect-metadata@0.2', 'pg@8'] },
  { way: 'typeorm', packages: ['typeorm@1', 'reflect-metadata@0.2', 'pg@8'] },
  { way: 'mikro-orm', packages: ['@mikro-orm/core@6.6.16', '@mikro-orm/postgresql@6.6.16', 'pg@8'] },
  { way: 'mikro-orm', packages: ['@mikro-orm/core@7.2.0', '@mikro-orm/postgresql@7.2.0', 'pg@8'], node: 24 },
  { way: 'postgres.js', packages: ['postgres@3', 'pg@8'] },
]

const prismaSchema = `generator client {
  provider = "prisma-client"
  output = "./generated"
  moduleFormat = "esm"
  generatedFileExtension = "ts"
  importFileExtension = "ts"
}
datasource db {
  provider = "postgresql"
}
model Order {
  id String @id
  @@map("orm_orders")
}
`

/** Prints \`commit and rollback work\` when a way of ways.mjs does. */
const ormProgram = `import * as carillon from 'carillon'
import * as orm from 'carillon/orm'
import pg from 'pg'
import { tryWay } from './ways.mjs'
const [name, url, schema] = process.argv.slice(2)
const client = new pg.Client({ connectionString: url })
await client.connect()
const query = async (text) => (await client.query(text)).rows
await tryWay(name, url, { ...carillon, orm, query, schema })
await client.end()
console.log('commit and rollback work')
`

const nestPackages = [
  '@nestjs/common@12.5.0',
  '@nestjs/core@12.5.0',
  '@nestjs/testing@12',
  'reflect-metadata@0.2',
  'rxjs@7',
]

/** What each runtime tries, with what it must print. */
const runtimePackages = [
  'lmdb@3.5',
  'pg@8',
  'redis@6',
  'fastify@5',
  '@sinclair/typebox@0.34',
  'pino@10',
  'light-my-request@6.6.0',
]
const runtimes = {
  bun: { packages: ['bun@1.4'], run: (project, args) => project.run('node_modules/.bin/bun', args) },
  deno: {
    packages: ['deno@2.9'],
    run: (project, args) =>
      project.run('node_modules/.bin/deno', ['run', '-A', '--node-modules-dir=manual', ...args]),
  },
}

const virtualTime = `import { timer } from 'carillon'
import { testTimers } from 'carillon/testing'
const timers = await testTimers()
const trial = timer('trial')
await timers.set(trial, 'a', { in: '14d' })
await timers.advance('14d')
console.log('advanced ' + timers.fired(trial).length)
await timers.stop()
`

/** All of these combinations. `combination` makes one, `expectPrinted` checks its output. */
export function stacksOf(context, { combination, expectPrinted }) {
  const inRuntime = (runtime, what, code, wanted) =>
    combination('runtimes', `${runtime}: ${what}`, context, {}, (project) => {
      const { packages, run } = runtimes[runtime]
      project.add(context.tarball, ...packages, ...runtimePackages)
      project.write('program.mjs', code())
      expectPrinted(run(project, ['program.mjs']), wanted)
    })
  const ofRuntime = (runtime) => [
    inRuntime(runtime, 'timers in memory and on a file', () => firing('memory:', 'file:./timers'), 'fired'),
    inRuntime(runtime, 'timers on PostgreSQL', () => firing(context.urls.postgres()), 'fired'),
    inRuntime(runtime, 'timers on Redis', () => firing(context.urls.redis()), 'fired'),
    inRuntime(runtime, 'virtual time', () => virtualTime, 'advanced 1'),
  ]
  const nest = combination('nest', 'Nest 12 on Node.js 24', context, { node: 24 }, (project) => {
    project.add(context.tarball, ...nestPackages, 'typescript@5', '@types/node@20')
    cpSync(path.join(root, 'scripts/compat/nest-app.ts'), path.join(project.folder, 'app.ts'))
    const flags = ['--strict', '--skipLibCheck', '--experimentalDecorators', '--emitDecoratorMetadata']
    const target = ['--target', 'es2022', '--lib', 'es2023,esnext.disposable', '--module', 'nodenext']
    project.run('node_modules/.bin/tsc', [...flags, ...target, 'app.ts'])
    const output = project.run('node', ['app.js'])
    expectPrinted(output, 'order 7')
    expectPrinted(output, 'tested')
  })
  // The server needs all of undici. Bun brings a part of it, and programs get that.
  const deno = inRuntime('deno', 'the server', () => serving, 'healthz 200')
  const ofOrms = orms.map(({ way, packages, node = 20 }, index) => {
    const name = `${way} with ${packages[0]} on Node.js ${node}`
    return combination('orm', name, context, { node }, (project) => {
      project.add(context.tarball, ...packages)
      cpSync(path.join(root, 'test/orm/ways.mjs'), path.join(project.folder, 'ways.mjs'))
      if (way === 'prisma') {
        project.write('schema.prisma', prismaSchema)
        project.write('prisma.config.mjs', `export default { schema: 'schema.prisma' }\n`)
        // Generating a client needs no engine, but the command would look for one.
        const environment = { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' }
        project.run('node_modules/.bin/prisma', ['generate'], { environment })
      }
      project.write('program.mjs', ormProgram)
      const args = ['program.mjs', way, context.urls.server(), `orm_${index}`]
      expectPrinted(project.run('node', args), 'commit and rollback work')
    })
  })
  return [...ofOrms, nest, ...ofRuntime('bun'), ...ofRuntime('deno'), deno]
}
