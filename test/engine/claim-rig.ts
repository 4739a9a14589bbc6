import {
  ClaimEngine,
  type EngineEvent,
  type EngineOptions,
  type DeliveryPolicy,
} from '../../src/engine/index.js'
import { type Carriage, MemoryStore, type RequestedOperation } from '../../src/store/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { done, type Firing } from '../../src/timer/index.js'
import { START, TimedRig } from './timed-rig.js'

export { START } from './timed-rig.js'

/** Claim engines on one memory store with a virtual clock. It records what they do. */
export class ClaimRig extends TimedRig {
  readonly clock: VirtualClock
  readonly store: MemoryStore
  readonly fired: { key: string; at: number; attempt: number; id: string; by: string }[] = []
  readonly events: EngineEvent[] = []
  readonly engines: ClaimEngine[] = []

  constructor() {
    super()
    this.clock = new VirtualClock({ start: START })
    this.store = new MemoryStore({ clock: this.clock, strategy: 'claim', shardCount: 4 })
  }

  /** The handler. By default it reports done. */
  handle: (firing: Firing) => void = (firing) => firing.report(done)

  /** Adds an instance with its own connection to the store. */
  engine(
    by: string,
    options: Partial<EngineOptions> & { carriage?: Carriage; policy?: Partial<DeliveryPolicy> } = {},
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

  async submit(engine: ClaimEngine, ...operations: RequestedOperation[]): Promise<string[]> {
    const answers = await this.settled(engine.submit(operations))
    return answers.map(({ outcome }) => outcome)
  }

  get keys(): string[] {
    return this.fired.map(({ key }) => key)
  }
}
