import type { Clock } from '../time/index.js'
import type { Firing } from '../timer/index.js'
import { TimerFiring } from './timer-firing.js'

/** The part of a connection that every PostgreSQL driver has and query builders need. */
export interface SettlingConnection {
  query(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: readonly Record<string, unknown>[]; readonly rowCount: number | null }>
}

/**
 * The firing of a handler that settles in a transaction. What the handler writes through `transaction` and the outcome of
 * the firing are committed together when it returns. If it throws, both are rolled back.
 */
export class TransactionFiring<Payload = unknown> extends TimerFiring<Payload> {
  /** The connection of the open transaction. It is begun and committed for you. */
  readonly transaction: SettlingConnection

  constructor(firing: Firing, clock: Clock, connection: unknown) {
    super(firing, clock)
    this.transaction = connection as SettlingConnection
  }
}

/** A handler that writes in the transaction that settles its firing. */
export type HandleInTransaction<Payload> = (firing: TransactionFiring<Payload>) => unknown
