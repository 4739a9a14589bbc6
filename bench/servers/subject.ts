/** A timer or job, the same for every candidate. */
export interface Row {
  readonly key: string
  readonly dueAt: number
  readonly payload: Payload
}

/** About 120 bytes as JSON. */
export interface Payload {
  readonly id: string
  readonly kind: string
  readonly tenant: string
  readonly text: string
  readonly order: number
}

/** The measured system: it accepts rows and, once started, passes each to a function at its due time. */
export interface Subject {
  /** The rows per call and the calls in flight that suit it best. */
  readonly batch: number
  readonly inFlight: number
  add(rows: readonly Row[]): Promise<void>
  /** Called when all rows are added, before the measurement. The instance that added them may stop. */
  ready?(): Promise<void>
  /** From now on due rows are passed to `handle`, which takes no time. */
  work(handle: (key: string, order: number) => void): Promise<void>
  /** Resolves when this many rows were handled and the server has recorded it. */
  settled(count: number): Promise<void>
  stop(): Promise<void>
}

/** A module that the driver can run: ours or a peer's. */
export interface SubjectModule {
  open(url: string): Promise<Subject>
}

export function rowOf(order: number, prefix: string, dueAt: number): Row {
  const key = `${prefix}-${String(order).padStart(12, '0')}`
  const payload = { id: key, kind: 'order.expire', tenant: `t${order % 100}`, text: 'x'.repeat(40), order }
  return { key, dueAt, payload }
}
