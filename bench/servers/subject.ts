/** A timer or job as every candidate gets it. */
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

/** What is measured: something that takes rows and gives each to a function at its time, once it works. */
export interface Subject {
  /** So many rows to a call, and so many calls under way, as suits it best. */
  readonly batch: number
  readonly inFlight: number
  add(rows: readonly Row[]): Promise<void>
  /** All is added, and nothing is measured yet: whoever added may go. */
  ready?(): Promise<void>
  /** From now on what is due is given to `handle`, which takes no time. */
  work(handle: (key: string, order: number) => void): Promise<void>
  /** Resolves when so many were handled and the server has it on record. */
  settled(count: number): Promise<void>
  stop(): Promise<void>
}

/** A module that the driver can drive: ours, or one of a peer. */
export interface SubjectModule {
  open(url: string): Promise<Subject>
}

export function rowOf(order: number, prefix: string, dueAt: number): Row {
  const key = `${prefix}-${String(order).padStart(12, '0')}`
  const payload = { id: key, kind: 'order.expire', tenant: `t${order % 100}`, text: 'x'.repeat(40), order }
  return { key, dueAt, payload }
}
