/** Returns the processor time of `work` in milliseconds. Other processes on the machine do not count. */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const used = process.cpuUsage(before)
  return (used.user + used.system) / 1000
}

/** Returns the shortest of several runs, to exclude garbage collection and compilation. */
export function leastCpuMs(work: () => void): number {
  return Math.min(cpuMs(work), cpuMs(work), cpuMs(work))
}
