/** Milliseconds of processor time that work takes: what else the machine does meanwhile does not count. */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const used = process.cpuUsage(before)
  return (used.user + used.system) / 1000
}

/** The least of a few: collecting garbage and compiling are not the work's fault. */
export function leastCpuMs(work: () => void): number {
  return Math.min(cpuMs(work), cpuMs(work), cpuMs(work))
}
