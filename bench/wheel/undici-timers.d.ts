// Not part of undici's public API, so it has no types.
declare module 'undici/lib/util/timers.js' {
  interface FastTimer {
    refresh(): void
  }
  interface FastTimers {
    setFastTimeout(callback: (token: number) => void, delayMs: number, token: number): FastTimer
    clearFastTimeout(timer: FastTimer): void
    now(): number
    tick(delayMs: number): void
    reset(): void
  }
  const timers: FastTimers
  export default timers
  export type { FastTimer }
}
