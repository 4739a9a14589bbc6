import { ClaimEngine, type EngineEvent, type EngineOptions, type Flow } from '../../src/engine/index.js'
import { type Carriage, MemoryStore, type RequestedOperation } from '../../src/store/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { done, type Firing } from '../../src/timer/index.js'

type SetRequest = Extract<RequestedOperation, { type: 'set' }>

export const START = Date.UTC(2026, 0, 1, 10)

let identities = 0

/** Engines of claims over one memory store under a virtual clock, with what they did written down. */
export class ClaimRig {
  readonly clock: VirtualClock
  readonly store: MemoryStore
  readonly fired: { key: string; at: number; attempt: number; id: string; by: string }[] = []
  readonly events: EngineEvent[] = []
  readonly engines: ClaimEngine[] = []

  constructor() {
    this.clock = new VirtualClock({ start: START })
    this.store = new MemoryStore({ clock: this.clock, strategy: 'claim', shardCount: 4 })
  }

  /** What handlers do; done unless a test says otherwise. */
  handle: (firing: Firing) => void = (firing) => firing.report(done)

  /** One more instance, with a way to the store of its own. */
  engine(
    by: string,
    options: Partial<EngineOptions> & { carriage?: Carriage; flow?: Partial<Flow> } = {},
  ): ClaimEngine {
    const { carriage, ...rest } = options
    const engine = new ClaimEngine({
      store: this.store.connect(carriage),
      clock: this.clock.fork(),
      memberId: by,
      deliver: (firings) => {
        for (const firing of firings) {
          const { id, attempt, row } = firing
          this.fired.push({ key: row.key, at: this.clock.now() - START, attempt, id, by })
          this.handle(firing)
        }
      },
      onEvent: (event) => this.events.push(event),
      ...rest,
      settings: { strategy: 'claim', ...rest.settings },
    })
    this.engines.push(engine)
    return engine
  }

  set(key: string, inMs: number, rest: Partial<SetRequest> = {}): RequestedOperation {
    return {
      type: 'set',
      namespace: 'n',
      kind: 'k',
      key,
      identity: ++identities,
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

  async submit(engine: ClaimEngine, ...operations: RequestedOperation[]): Promise<string[]> {
    const answers = await this.settled(engine.submit(operations))
    return answers.map(({ outcome }) => outcome)
  }

  get keys(): string[] {
    return this.fired.map(({ key }) => key)
  }
}
