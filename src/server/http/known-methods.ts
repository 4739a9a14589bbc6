/** The methods of each path, to answer a request that has another one. */
export class KnownMethods {
  readonly #paths: { readonly pattern: RegExp; readonly methods: readonly string[] }[] = []

  /** Adds a path as Fastify writes it: `/v1/timers/:kind`. */
  add(path: string, method: string | readonly string[]): void {
    // The route for the preflight requests of browsers matches everything.
    if (path.includes('*')) return
    const parts = path.split(/:\w+/).map((part) => part.replace(/[.$^()|[\]\\+?]/g, '\\$&'))
    this.#paths.push({ pattern: new RegExp(`^${parts.join('[^/]+')}$`), methods: [method].flat() })
  }

  /** In alphabetical order. Empty if the path is not known. */
  of(path: string): readonly string[] {
    const methods = this.#paths.filter(({ pattern }) => pattern.test(path)).flatMap((each) => each.methods)
    return [...new Set(methods)].toSorted()
  }
}
