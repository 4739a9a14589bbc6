import { readFileSync } from 'node:fs'

// Below this share the figures are as good as on an idle machine.
const NOTEWORTHY_SHARE = 0.02

/**
 * Measures how long this thread was ready to run while its core ran something else, as reported by the Linux scheduler. So
 * pauses of the candidate can be told from pauses of the machine. On other systems it reports nothing.
 */
export class CoreWait {
  readonly #before = read()

  /** A note if the thread waited long enough to distort worst ticks and pauses. */
  notes(): string[] {
    const after = read()
    if (this.#before === undefined || after === undefined) return []
    const ran = after.ranNs - this.#before.ranNs
    const waited = after.waitedNs - this.#before.waitedNs
    const share = waited / (ran + waited)
    if (!(share > NOTEWORTHY_SHARE)) return []
    return [
      `it waited for a core ${(share * 100).toFixed(0)} % of the time: its longest ticks and pauses come from the machine`,
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
