/** A fixed amount of work: so threads that share a core take longer. */
export function burn(rounds: number): number {
  let hash = 7
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < 1000; i++) hash = (Math.imul(hash, 31) + i) | 0
  }
  return hash
}

/** How many rounds take this long, on a core of its own. */
export function roundsOf(ms: number): number {
  burn(20_000)
  let best = Infinity
  for (let i = 0; i < 5; i++) {
    const began = performance.now()
    burn(10_000)
    best = Math.min(best, performance.now() - began)
  }
  return Math.round((ms / best) * 10_000)
}
