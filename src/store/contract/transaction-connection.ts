/**
 * What `timers.using` needs of your transaction: one method that runs a statement on its connection. A client of `pg`
 * has it. `carillon/orm` makes one from the transaction of an ORM.
 *
 * @example
 * ```ts
 * const connection: TransactionConnection = {
 *   query: async (text, values) => ({ rows: await myTransaction.run(text, values) }),
 * }
 * await timers.using(connection).set(remind, 'order:7', { in: '5m' })
 * ```
 */
export interface TransactionConnection {
  /**
   * Runs one statement with the parameters `$1`, `$2` and so on. All values are strings, and all columns of the answer are
   * text. So every driver can send and read them, whatever types it knows.
   */
  query(
    text: string,
    values: readonly string[],
  ): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[] }>
}
