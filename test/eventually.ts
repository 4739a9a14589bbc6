/** Tries until it does not throw, and answers what it then answers; fails as it did last after `forMs`. */
export async function eventually<Answer>(
  attempt: () => Promise<Answer> | Answer,
  forMs = 10_000,
): Promise<Answer> {
  const end = Date.now() + forMs
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (Date.now() > end) throw error
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
  }
}

/** Waits for something to become so; says what it waited for when it does not. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  forMs = 20_000,
): Promise<void> {
  const end = Date.now() + forMs
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error(`it did not happen within ${forMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}
