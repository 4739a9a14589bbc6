import type { Clock } from '../time/index.js'
import type { Firing } from '../timer/index.js'
import { TimerFiring } from './timer-firing.js'

/** As much of a connection as every driver of PostgreSQL's has, and query builders need. */
export interface SettlingConnection {
  query(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: readonly Record<string, unknown>[]; readonly rowCount: number | null }>
}

/**
 * What a handler gets that settles its firing by a transaction: what it writes by `transaction`, and that the firing
 * is dealt with, are committed together when it returns, and undone when it throws.
 */
export class TransactionFiring<Payload = unknown> extends TimerFiring<Payload> {
  /** The connection, in the midst of the transaction. It is begun and committed for you. */
  readonly transaction: SettlingConnection

  constructor(firing: Firing, clock: Clock, connection: unknown) {
    super(firing, clock)
    this.transaction = connection as SettlingConnection
  }
}

export type HandleInTransaction<Payload> = (firing: TransactionFiring<Payload>) => unknown
