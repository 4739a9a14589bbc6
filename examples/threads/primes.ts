// The handler of examples/threads.ts. Each of its threads loads this module, and calls the default export.
import { setTimeout as pause } from 'node:timers/promises'
import { Dead, type TimerFiring } from 'carillon'

export default async function countPrimes(firing: TimerFiring<number>): Promise<void> {
  const { payload: below, attempt, key } = firing
  if (below < 2) throw new Dead(`there are no primes below ${below}`)
  // The first attempt never yields. Only the end of its thread can end it.
  if (key === 'endless' && attempt === 1) for (;;);
  let count = 0
  for (let n = 2; n < below; n++) if (isPrime(n)) count++
  console.log(`${key}: ${count} primes`)
  await pause(1)
}

function isPrime(n: number): boolean {
  for (let divisor = 2; divisor < n; divisor++) if (n % divisor === 0) return false
  return true
}
