/** Tries until it holds; fails as it did last when it does not within `forMs`. */
export async function eventually(holds: () => Promise<void> | void, forMs = 10_000): Promise<void> {
  const until = Date.now() + forMs
  for (;;) {
    try {
      await holds()
      return
    } catch (error) {
      if (Date.now() > until) throw error
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
  }
}
