import { VirtualClock } from '../../time/index.js'

const STEP_MS = 1000

/** A virtual clock that can be made to advance a second at each reading, so that every time budget soon runs out. */
export class ContractClock extends VirtualClock {
  runsWhenRead = false
  #ranMs = 0

  override now(): number {
    return super.now() + this.#ran()
  }

  override monotonic(): number {
    return super.monotonic() + this.#ran()
  }

  #ran(): number {
    if (this.runsWhenRead) this.#ranMs += STEP_MS
    return this.#ranMs
  }
}
