/**
 * `carillon/orm`: makes what `timers.using` needs from the transaction of an ORM or a driver. It imports none of them: each
 * function names the one method that it calls. Proven by test/orm/orm.test.ts, and against the real packages by
 * `npm run compat -- --only orm`.
 */
import { InvalidInputError } from '../error/index.js'
import type { TransactionConnection } from '../store/index.js'

export type { TransactionConnection } from '../store/index.js'

type Rows = readonly Readonly<Record<string, unknown>>[]

/** The method of a Drizzle transaction that `fromDrizzle` calls. */
export interface DrizzleTransaction {
  execute(query: never): PromiseLike<unknown>
}

/**
 * The connection of a Drizzle transaction.
 *
 * @example
 * ```ts
 * await db.transaction(async (tx) => {
 *   await tx.insert(orders).values({ id: '7' })
 *   await timers.using(fromDrizzle(tx)).set(remind, 'order:7', { in: '5m', payload: { orderId: '7' } })
 * })
 * ```
 */
export function fromDrizzle(transaction: DrizzleTransaction): TransactionConnection {
  checkMethod('fromDrizzle', transaction, 'execute')
  return {
    query: async (text, values) => {
      // Drizzle takes any object that has a query, and asks it for text and parameters when it sends it.
      const query = { getSQL: () => query, toQuery: () => ({ sql: text, params: [...values] }) }
      return { rows: rowsOf(await transaction.execute(query as never)) }
    },
  }
}

/** The method of a Kysely transaction that `fromKysely` calls. */
export interface KyselyTransaction {
  executeQuery(query: never): Promise<{ readonly rows: readonly unknown[] }>
}

/**
 * The connection of a Kysely transaction.
 *
 * @example
 * ```ts
 * await db.transaction().execute(async (trx) => {
 *   await trx.insertInto('orders').values({ id: '7' }).execute()
 *   await timers.using(fromKysely(trx)).set(remind, 'order:7', { in: '5m', payload: { orderId: '7' } })
 * })
 * ```
 */
export function fromKysely(transaction: KyselyTransaction): TransactionConnection {
  checkMethod('fromKysely', transaction, 'executeQuery')
  return {
    query: async (text, values) => {
      const query = {
        // What `CompiledQuery.raw` makes.
        query: { kind: 'RawNode', sqlFragments: [text], parameters: [] },
        queryId: { queryId: 'carillon' },
        sql: text,
        parameters: [...values],
      }
      return { rows: rowsOf(await transaction.executeQuery(query as never)) }
    },
  }
}

/** The method of a Knex transaction that `fromKnex` calls. */
export interface KnexTransaction {
  raw(text: string, values: never): PromiseLike<unknown>
}

/**
 * The connection of a Knex transaction.
 *
 * @example
 * ```ts
 * await knex.transaction(async (trx) => {
 *   await trx('orders').insert({ id: '7' })
 *   await timers.using(fromKnex(trx)).set(remind, 'order:7', { in: '5m', payload: { orderId: '7' } })
 * })
 * ```
 */
export function fromKnex(transaction: KnexTransaction): TransactionConnection {
  checkMethod('fromKnex', transaction, 'raw')
  return {
    query: async (text, values) => {
      const answer = await transaction.raw(...questionMarks(text, values))
      return { rows: rowsOf(answer) }
    },
  }
}

/** The method of a Prisma transaction that `fromPrisma` calls. */
export interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: string[]): PromiseLike<unknown>
}

/**
 * The connection of an interactive transaction of Prisma.
 *
 * @example
 * ```ts
 * await prisma.$transaction(async (tx) => {
 *   await tx.order.create({ data: { id: '7' } })
 *   await timers.using(fromPrisma(tx)).set(remind, 'order:7', { in: '5m', payload: { orderId: '7' } })
 * })
 * ```
 */
export function fromPrisma(transaction: PrismaTransaction): TransactionConnection {
  checkMethod('fromPrisma', transaction, '$queryRawUnsafe')
  return {
    query: async (text, values) => ({ rows: rowsOf(await transaction.$queryRawUnsafe(text, ...values)) }),
  }
}

/** The method of TypeORM's entity manager or query runner that `fromTypeOrm` calls. */
export interface TypeOrmTransaction {
  query(text: string, values: string[]): Promise<unknown>
}

/**
 * The connection of a TypeORM transaction: its entity manager, or its query runner.
 *
 * @example
 * ```ts
 * await dataSource.transaction(async (manager) => {
 *   await manager.save(order)
 *   await timers.using(fromTypeOrm(manager)).set(remind, 'order:7', { in: '5m', payload: { orderId: '7' } })
 * })
 * ```
 */
export function fromTypeOrm(transaction: TypeOrmTransaction): TransactionConnection {
  checkMethod('fromTypeOrm', transaction, 'query')
  return {
    query: async (text, values) => ({ rows: rowsOf(await transaction.query(text, [...values])) }),
  }
}

/** The method of MikroORM's entity manager that `fromMikroOrm` calls. */
export interface MikroOrmTransaction {
  execute(text: string, values: string[]): Promise<unknown>
}

/**
 * The connection of a MikroORM transaction. Without `em.transactional`, each statement is its own transaction.
 *
 * @example
 * ```ts
 * await em.transactional(async (tx) => {
 *   tx.create(Order, { id: '7' })
 *   await timers.using(fromMikroOrm(tx)).set(remind, 'order:7', { in: '5m', payload: { orderId: '7' } })
 * })
 * ```
 */
export function fromMikroOrm(transaction: MikroOrmTransaction): TransactionConnection {
  checkMethod('fromMikroOrm', transaction, 'execute')
  return {
    query: async (text, values) => {
      const answer = await transaction.execute(...questionMarks(text, values))
      return { rows: rowsOf(answer) }
    },
  }
}

/** The method of a transaction of postgres.js that `fromPostgresJs` calls. */
export interface PostgresJsTransaction {
  unsafe(text: string, values: never): PromiseLike<unknown>
}

/**
 * The connection of a transaction of postgres.js.
 *
 * @example
 * ```ts
 * await sql.begin(async (tx) => {
 *   await tx`insert into orders (id) values ('7')`
 *   await timers.using(fromPostgresJs(tx)).set(remind, 'order:7', { in: '5m', payload: { orderId: '7' } })
 * })
 * ```
 */
export function fromPostgresJs(transaction: PostgresJsTransaction): TransactionConnection {
  checkMethod('fromPostgresJs', transaction, 'unsafe')
  return {
    query: async (text, values) => ({ rows: rowsOf(await transaction.unsafe(text, [...values] as never)) }),
  }
}

/** The rows of an answer: the answer itself, or its field `rows`. */
function rowsOf(answer: unknown): Rows {
  if (Array.isArray(answer)) return answer as Rows
  return (answer as { readonly rows: Rows }).rows
}

/** For libraries that take `?` instead of `$1`: a value for each `?`, in the order of the text. */
function questionMarks(text: string, values: readonly string[]): [text: string, values: never] {
  const given: string[] = []
  const marked = text.replaceAll(/\$(\d+)/g, (_, number: string) => {
    given.push(values[Number(number) - 1]!)
    return '?'
  })
  return [marked, given as never]
}

function checkMethod(name: string, transaction: unknown, method: string): void {
  const isGiven =
    (typeof transaction === 'object' || typeof transaction === 'function') && transaction !== null
  if (isGiven && typeof (transaction as Record<string, unknown>)[method] === 'function') return
  throw new InvalidInputError(
    'invalid-option',
    `${name} needs a transaction with the method ${method}: pass what the library gives to your function`,
  )
}
