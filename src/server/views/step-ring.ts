/** What is counted in each step, in this order. Buckets of lateness follow. */
export const counted = ['set', 'fired', 'done', 'failed', 'dead'] as const

/** Bucket n of the lateness ends at 2^n milliseconds. The last one, from about an hour on, has no end. */
export const LATENESS_BUCKETS = 24
export const CELLS = counted.length + LATENESS_BUCKETS

/** Counts per step of time, for the last steps. It takes the same memory however much is counted. */
export class StepRing {
  readonly stepMs: number
  readonly #steps: number
  readonly #cells: Float32Array
  // The newest step, counted from the epoch.
  #newest = -1

  constructor({ stepMs, steps }: { readonly stepMs: number; readonly steps: number }) {
    this.stepMs = stepMs
    this.#steps = steps
    this.#cells = new Float32Array(steps * CELLS)
  }

  /** Adds counts to the step of an instant. One before the oldest step is left out. */
  add(at: number, counts: ArrayLike<number>): void {
    const step = Math.floor(at / this.stepMs)
    if (step > this.#newest) this.#forward(step)
    if (step <= this.#newest - this.#steps) return
    const offset = this.#offsetOf(step)
    for (let cell = 0; cell < CELLS; cell++) this.#cells[offset + cell]! += counts[cell]!
  }

  /** The counts of a step, counted from the epoch. Undefined if it had none, or is no longer kept. */
  at(step: number): readonly number[] | undefined {
    if (step > this.#newest || step <= this.#newest - this.#steps) return undefined
    const offset = this.#offsetOf(step)
    const cells = this.#cells.subarray(offset, offset + CELLS)
    return cells.some((count) => count !== 0) ? Array.from(cells) : undefined
  }

  #forward(step: number): void {
    const first = Math.max(this.#newest + 1, step - this.#steps + 1)
    for (let cleared = first; cleared <= step; cleared++) {
      const offset = this.#offsetOf(cleared)
      this.#cells.fill(0, offset, offset + CELLS)
    }
    this.#newest = step
  }

  #offsetOf(step: number): number {
    return (step % this.#steps) * CELLS
  }
}

/** An upper bound in milliseconds of the lateness of this part of the firings; undefined without any. */
export function latenessOf(buckets: readonly number[], share: number): number | undefined {
  let count = 0
  for (let bucket = 0; bucket < LATENESS_BUCKETS; bucket++) count += buckets[bucket] ?? 0
  if (count <= 0) return undefined
  let left = Math.ceil(count * share)
  for (let bucket = 0; bucket < LATENESS_BUCKETS; bucket++) {
    left -= buckets[bucket] ?? 0
    if (left <= 0) return 2 ** bucket
  }
  return 2 ** LATENESS_BUCKETS
}

/** Adds up the cells of several steps or instances. */
export function addCells(sum: number[], cells: readonly number[]): void {
  for (const [cell, count] of cells.entries()) sum[cell] = (sum[cell] ?? 0) + count
}

export function noCells(): number[] {
  return new Array<number>(CELLS).fill(0)
}
