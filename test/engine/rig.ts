import { type Carriage, MemoryStore, type RequestedOperation } from '../../src/store/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { Engine, type EngineEvent, type EngineOptions } from '../../src/engine/index.js'
import { done, type Firing } from '../../src/timer/index.js'

type SetRequest = Extract<RequestedOperation, { type: 'set' }>

export const START = Date.UTC(2026, 0, 1, 10)

/** An engine over the memory store under a virtual clock, with what it did written down. */
export class Rig {
  readonly clock: VirtualClock
  readonly store: MemoryStore
  readonly fired: { key: string; at: number; attempt: number; id: string }[] = []
  readonly events: (EngineEvent & { at: number })[] = []
  readonly engine: Engine
  #identity = 1

  constructor(
    options: Partial<EngineOptions> & { rig?: Rig; carriage?: Carriage; shardCount?: number } = {},
  ) {
    const { rig, carriage, shardCount, ...rest } = options
    this.clock = rig === undefined ? new VirtualClock({ start: START }) : rig.clock.fork()
    const first = rig?.store ?? new MemoryStore({ clock: this.clock, ...(shardCount && { shardCount }) })
    this.store = rig !== undefined || carriage !== undefined ? first.connect(carriage) : first
    this.engine = new Engine({
      store: this.store,
      clock: this.clock,
      deliver: (firings) => {
        for (const firing of firings) this.#deliver(firing)
      },
      onEvent: (event) => this.events.push({ ...event, at: this.clock.now() - START }),
      ...rest,
    })
  }

  /** The events of one type, as they came. */
  eventsOf<Type extends EngineEvent['type']>(type: Type) {
    return this.events.filter(
      (event): event is Extract<EngineEvent, { type: Type }> & { at: number } => event.type === type,
    )
  }

  /** What handlers do; done unless a test says otherwise. */
  handle: (firing: Firing) => void = (firing) => firing.report(done)

  #deliver(firing: Firing): void {
    const { row, attempt, id } = firing
    this.fired.push({ key: row.key, at: this.clock.now() - START, attempt, id })
    this.handle(firing)
  }

  /** A set of `key`, due `inMs` after the start of the test's time. */
  set(key: string, inMs: number, rest: Partial<SetRequest> = {}): RequestedOperation {
    return {
      type: 'set',
      namespace: 'n',
      kind: 'k',
      key,
      identity: this.#identity++,
      createdAt: this.clock.now(),
      dueAt: START + inMs,
      payload: new Uint8Array([1]),
      tags: [],
      details: '',
      attempt: 0,
      occurrence: 0,
      ...rest,
    }
  }

  move(key: string, inMs: number): RequestedOperation {
    return { type: 'move', namespace: 'n', kind: 'k', key, dueAt: START + inMs }
  }

  cancel(key: string): RequestedOperation {
    return { type: 'cancel', namespace: 'n', kind: 'k', key }
  }

  /** Submits without waiting for time to pass on its own: advances a little until the answers are there. */
  async submit(...operations: RequestedOperation[]) {
    return await this.settled(this.engine.submit(operations))
  }

  /** Lets little time pass until a promise is settled. */
  async settled<T>(promise: Promise<T>): Promise<T> {
    const state = { isOver: false }
    const watched = promise.finally(() => {
      state.isOver = true
    })
    watched.catch(() => undefined)
    await this.clock.advance(0)
    for (let steps = 0; !state.isOver && steps < 100_000; steps++) await this.clock.advance(1)
    return await watched
  }
}
