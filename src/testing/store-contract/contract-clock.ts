import { VirtualClock } from '../../time/index.js'

const STEP_MS = 1000

/** A virtual clock that can be made to run by a second with every reading, so that any time budget is soon over. */
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
