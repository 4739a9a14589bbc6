type Call = 'load' | 'settle'

/**
 * Revisions that were removed while a load or a settlement was on its way: what that call brings back may be
 * older than the removal, and must not be taken in.
 */
export class Removals {
  readonly #meanwhile: { [Name in Call]: Set<number> | undefined } = { load: undefined, settle: undefined }

  begin(call: Call): void {
    this.#meanwhile[call] = new Set()
  }

  end(call: Call): void {
    this.#meanwhile[call] = undefined
  }

  add(revision: number): void {
    this.#meanwhile.load?.add(revision)
    this.#meanwhile.settle?.add(revision)
  }

  has(call: Call, revision: number): boolean {
    return this.#meanwhile[call]?.has(revision) === true
  }
}
