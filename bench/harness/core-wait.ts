import { readFileSync } from 'node:fs'

// Below this the figures are as good as alone on the machine.
const WORTH_A_WORD = 0.02

/**
 * How long this thread stood ready while its core ran something else, by the word of the Linux scheduler.
 * It tells a pause that a candidate made from one that the machine made; elsewhere it knows nothing.
 */
export class CoreWait {
  readonly #before = read()

  /** A sentence when the waiting was enough to spoil worst ticks and pauses. */
  notes(): string[] {
    const after = read()
    if (this.#before === undefined || after === undefined) return []
    const ran = after.ranNs - this.#before.ranNs
    const waited = after.waitedNs - this.#before.waitedNs
    const share = waited / (ran + waited)
    if (!(share > WORTH_A_WORD)) return []
    return [
      `it waited for a core ${(share * 100).toFixed(0)} % of the time: its longest ticks and pauses are the machine's`,
    ]
  }
}

function read(): { readonly ranNs: number; readonly waitedNs: number } | undefined {
  try {
    const [ranNs, waitedNs] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ').map(Number)
    return ranNs === undefined || waitedNs === undefined ? undefined : { ranNs, waitedNs }
  } catch {
    return undefined
  }
}
