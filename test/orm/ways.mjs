// How each ORM and driver runs a transaction: `npm test` tries some of them, `npm run compat` all. Both try the real
// packages. `open(url, orm)` gives a function that runs work in a transaction, and one that ends the connections. The work
// gets the connection that `carillon/orm` makes of the transaction, and a function that writes a row by the library itself.
// The specifiers are in variables: in the repository itself, most of these packages are not there.
import assert from 'node:assert/strict'

/** The smallest set of tables that the rows of a test need. */
export const table = 'create table if not exists orm_orders (id text primary key)'

export const ways = {
  pg: async (url) => {
    const [{ default: pg }] = await load('pg')
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    return {
      inTransaction: async (work) => {
        await client.query('begin')
        try {
          await work(client, (id) => client.query('insert into orm_orders values ($1)', [id]))
          await client.query('commit')
        } catch (error) {
          await client.query('rollback')
          throw error
        }
      },
      stop: () => client.end(),
    }
  },

  drizzle: async (url, { fromDrizzle }) => {
    const [{ default: pg }, { drizzle }, { pgTable, text }] = await load(
      'pg',
      'drizzle-orm/node-postgres',
      'drizzle-orm/pg-core',
    )
    const pool = new pg.Pool({ connectionString: url })
    const orders = pgTable('orm_orders', { id: text('id').primaryKey() })
    const db = drizzle({ client: pool })
    return {
      inTransaction: (work) =>
        db.transaction((tx) => work(fromDrizzle(tx), (id) => tx.insert(orders).values({ id }))),
      stop: () => pool.end(),
    }
  },

  'drizzle-postgres-js': async (url, { fromDrizzle }) => {
    const [{ default: postgres }, { drizzle }, { pgTable, text }] = await load(
      'postgres',
      'drizzle-orm/postgres-js',
      'drizzle-orm/pg-core',
    )
    const client = postgres(url, { max: 2, onnotice: () => {} })
    const orders = pgTable('orm_orders', { id: text('id').primaryKey() })
    const db = drizzle({ client })
    return {
      inTransaction: (work) =>
        db.transaction((tx) => work(fromDrizzle(tx), (id) => tx.insert(orders).values({ id }))),
      stop: () => client.end(),
    }
  },

  kysely: async (url, { fromKysely }) => {
    const [{ default: pg }, { Kysely, PostgresDialect }] = await load('pg', 'kysely')
    const db = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }) })
    return {
      inTransaction: (work) =>
        db
          .transaction()
          .execute((trx) =>
            work(fromKysely(trx), (id) => trx.insertInto('orm_orders').values({ id }).execute()),
          ),
      stop: () => db.destroy(),
    }
  },

  knex: async (url, { fromKnex }) => {
    const [{ default: knex }] = await load('knex')
    const db = knex({ client: 'pg', connection: url })
    return {
      inTransaction: (work) =>
        db.transaction((trx) => work(fromKnex(trx), (id) => trx('orm_orders').insert({ id }))),
      stop: () => db.destroy(),
    }
  },

  prisma: async (url, { fromPrisma }) => {
    const [{ PrismaPg }, { PrismaClient }] = await load(
      '@prisma/adapter-pg',
      new URL('./generated/client.ts', import.meta.url).href,
    )
    const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) })
    return {
      inTransaction: (work) =>
        prisma.$transaction((tx) => work(fromPrisma(tx), (id) => tx.order.create({ data: { id } }))),
      stop: () => prisma.$disconnect(),
    }
  },

  typeorm: async (url, { fromTypeOrm }) => {
    const [{ DataSource, EntitySchema }] = await load('typeorm')
    const Order = new EntitySchema({
      name: 'orm_orders',
      columns: { id: { type: 'text', primary: true } },
    })
    const source = await new DataSource({ type: 'postgres', url, entities: [Order] }).initialize()
    return {
      inTransaction: (work) =>
        source.transaction((manager) => work(fromTypeOrm(manager), (id) => manager.insert(Order, { id }))),
      stop: () => source.destroy(),
    }
  },

  'mikro-orm': async (url, { fromMikroOrm }) => {
    const [{ EntitySchema, MikroORM }] = await load('@mikro-orm/postgresql')
    const Order = new EntitySchema({
      name: 'Order',
      tableName: 'orm_orders',
      properties: { id: { type: 'text', primary: true } },
    })
    const mikro = await MikroORM.init({ clientUrl: url, dbName: 'postgres', entities: [Order], debug: false })
    return {
      inTransaction: (work) =>
        mikro.em.fork().transactional((em) => work(fromMikroOrm(em), (id) => em.insert(Order, { id }))),
      stop: () => mikro.close(true),
    }
  },

  'postgres.js': async (url, { fromPostgresJs }) => {
    const [{ default: postgres }] = await load('postgres')
    const sql = postgres(url, { max: 2, onnotice: () => {} })
    return {
      inTransaction: (work) =>
        sql.begin((tx) => work(fromPostgresJs(tx), (id) => tx`insert into orm_orders values (${id})`)),
      stop: () => sql.end(),
    }
  },

  bun: async (url, { fromPostgresJs }) => {
    const [{ SQL }] = await load('bun')
    const sql = new SQL(url)
    return {
      inTransaction: (work) =>
        sql.begin((tx) => work(fromPostgresJs(tx), (id) => tx`insert into orm_orders values (${id})`)),
      stop: () => sql.end(),
    }
  },
}

/**
 * Tries one way: set, setMany, move and cancel in a transaction that commits, and in one that rolls back. `query` runs SQL
 * outside of transactions. Throws if something is not as it should be.
 */
export async function tryWay(name, url, { openTimers, timer, orm, query, schema }) {
  const remind = timer('remind')
  await query(table)
  const timers = await openTimers({ store: `${url}?schema=${schema}`, logger: false })
  const keysIn = async () => (await timers.list({ limit: 100 })).items.map(({ key }) => key).toSorted()
  const way = await ways[name](url, orm)
  try {
    const payload = 'with "quotes", \\ and {braces} — ü?'
    await timers.setMany(
      remind,
      ['kept', 'moved', 'cancelled'].map((key) => ({ key, in: '1h', payload: key })),
    )
    await way.inTransaction(async (connection, insert) => {
      await insert(`${schema}-committed`)
      const inTransaction = timers.using(connection)
      assert.equal((await inTransaction.set(remind, 'set', { in: '1h', payload })).outcome, 'set')
      await inTransaction.setMany(
        remind,
        Array.from({ length: 50 }, (_, i) => ({ key: `many:${i}`, in: '1h', payload: i })),
      )
      assert.equal(await inTransaction.move(remind, 'moved', { at: 4e12 }), 'queued')
      assert.equal(await inTransaction.cancel(remind, 'cancelled'), 'queued')
      assert.equal(await timers.get(remind, 'set'), undefined)
      assert.deepEqual(await keysIn(), ['cancelled', 'kept', 'moved'])
    })
    assert.equal((await timers.get(remind, 'set')).payload, payload)
    assert.equal((await timers.get(remind, 'moved')).dueAt, 4e12)
    assert.equal(await timers.get(remind, 'cancelled'), undefined)
    const before = await keysIn()
    assert.equal(before.length, 53)

    await assert.rejects(
      way.inTransaction(async (connection, insert) => {
        await insert(`${schema}-rolled-back`)
        const inTransaction = timers.using(connection)
        await inTransaction.set(remind, 'never', { in: 0, payload })
        await inTransaction.move(remind, 'kept', { at: 4e12 })
        await inTransaction.cancel(remind, 'set')
        throw new Error('roll back')
      }),
      /roll back/,
    )
    assert.deepEqual(await keysIn(), before)
    assert.notEqual((await timers.get(remind, 'kept')).dueAt, 4e12)
    const rows = await query(`select id from orm_orders where id like '${schema}-%'`)
    assert.deepEqual(
      rows.map(({ id }) => id),
      [`${schema}-committed`],
    )
  } finally {
    await way.stop()
    await timers.stop()
  }
}

/** Loads packages, in this order. */
async function load(...specifiers) {
  return await Promise.all(specifiers.map((specifier) => import(specifier)))
}
