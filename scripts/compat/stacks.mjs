// The combinations with the libraries around a timer: ORMs, frameworks, and other runtimes than Node.js.
import { cpSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

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

/** All of these combinations. `combination` makes one, `expectPrinted` checks its output. */
export function stacksOf(context, { combination, expectPrinted }) {
  return orms.map(({ way, packages, node = 20 }, index) => {
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
}
