/** Retries `attempt` until it does not throw, and returns its result. After `forMs` it throws the last error. */
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

/** Waits for a condition. The error after `forMs` names the condition. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  forMs = 20_000,
): Promise<void> {
  const end = Date.now() + forMs
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error(`timed out after ${forMs} ms waiting for: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}
