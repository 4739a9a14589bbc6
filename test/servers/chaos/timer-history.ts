/** One attempt, as its process reported it. Times are those of the machine's monotonic clock. */
export interface Start {
  readonly by: string
  readonly attempt: number
  /** When the handler was called. */
  readonly at: number
  /** When its engine started it, as the engine reported. */
  readonly startedAt: number
  /** When the handler ended; Infinity before that. */
  endedAt: number
  isDone: boolean
}

/** Everything that is known of one timer. Every key is set once. */
export class TimerHistory {
  readonly key: string
  dueAt: number | undefined = undefined
  ackedAt = Infinity
  cancelAskedAt = Infinity
  cancelledAt = Infinity
  settledAt = Infinity
  deadReason: string | undefined = undefined
  id: string | undefined = undefined
  shard: number | undefined = undefined
  isDone = false
  readonly starts: Start[] = []

  constructor(key: string) {
    this.key = key
  }

  /** The starts in the order of time: reports of different processes arrive in any order. */
  get inOrder(): readonly Start[] {
    return this.starts.toSorted((a, b) => a.at - b.at)
  }

  get last(): Start | undefined {
    return this.starts.reduce<Start | undefined>(
      (latest, start) => (latest === undefined || start.startedAt > latest.startedAt ? start : latest),
      undefined,
    )
  }

  /** The running attempt of this process with this number. */
  running(by: string, attempt: number): Start | undefined {
    return this.starts.find(
      (start) => start.by === by && start.attempt === attempt && start.endedAt === Infinity,
    )
  }

  /** Line by line, with times relative to the moment at which it was due. `epochMs` turns machine time to wall time. */
  shown(epochMs: number): string {
    const due = (this.dueAt ?? 0) - epochMs
    const lines: [at: number, text: string][] = []
    const note = (at: number, text: string): void => {
      if (Number.isFinite(at)) lines.push([at, text])
    }
    note(this.ackedAt, 'the set was acknowledged')
    note(this.cancelAskedAt, 'its cancellation was asked for')
    note(this.cancelledAt, 'cancelled was answered')
    note(this.settledAt, 'its settlement was acknowledged by the store')
    for (const { by, attempt, at, endedAt, isDone } of this.starts) {
      note(at, `attempt ${attempt} started in ${by}`)
      note(endedAt, `attempt ${attempt} in ${by} ended: ${isDone ? 'done' : 'failed or given up'}`)
    }
    const shard = this.shard === undefined ? '' : `, shard ${this.shard}`
    const dead = this.deadReason === undefined ? '' : `\n    it is a dead letter: ${this.deadReason}`
    const all = lines
      .toSorted(([a], [b]) => a - b)
      .map(([at, text]) => `\n    ${at < due ? '' : '+'}${(at - due).toFixed(1)} ms ${text}`)
    return `${this.key}, due at ${this.dueAt ?? 'an unknown time'}${shard}, id ${this.id ?? '?'}${all.join('')}${dead}`
  }
}
