import { type Carriage, MemoryStore, type RequestedOperation } from '../../src/store/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { OwnerEngine, type EngineEvent, type EngineOptions } from '../../src/engine/index.js'
import { done, type Firing } from '../../src/timer/index.js'
import { START, TimedRig } from './timed-rig.js'

export { START } from './timed-rig.js'

/** An owner engine on a memory store with a virtual clock. It records what the engine does. */
export class Rig extends TimedRig {
  readonly clock: VirtualClock
  readonly store: MemoryStore
  readonly fired: { key: string; at: number; attempt: number; id: string }[] = []
  readonly events: (EngineEvent & { at: number })[] = []
  readonly engine: OwnerEngine

  constructor(
    options: Partial<EngineOptions> & { rig?: Rig; carriage?: Carriage; shardCount?: number } = {},
  ) {
    super()
    const { rig, carriage, shardCount, ...rest } = options
    this.clock = rig === undefined ? new VirtualClock({ start: START }) : rig.clock.fork()
    const first = rig?.store ?? new MemoryStore({ clock: this.clock, ...(shardCount && { shardCount }) })
    this.store = rig !== undefined || carriage !== undefined ? first.connect(carriage) : first
    this.engine = new OwnerEngine({
      store: this.store,
      clock: this.clock,
      deliver: (firings) => {
        for (const firing of firings) this.#deliver(firing)
      },
      onEvent: (event) => this.events.push({ ...event, at: this.clock.now() - START }),
      ...rest,
    })
  }

  /** The events of one type, in order. */
  eventsOf<Type extends EngineEvent['type']>(type: Type) {
    return this.events.filter(
      (event): event is Extract<EngineEvent, { type: Type }> & { at: number } => event.type === type,
    )
  }

  /** The handler. By default it reports done. */
  handle: (firing: Firing) => void = (firing) => firing.report(done)

  #deliver(firing: Firing): void {
    const { row, attempt, id } = firing
    this.fired.push({ key: row.key, at: this.clock.now() - START, attempt, id })
    this.handle(firing)
  }

  /** Submits operations, and advances the clock a little until they are answered. */
  async submit(...operations: RequestedOperation[]) {
    return await this.settled(this.engine.submit(operations))
  }
}
