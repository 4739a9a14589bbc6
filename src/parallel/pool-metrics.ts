import type { PoolStats, WorkerStats } from './pool-stats.js'

type Type = 'gauge' | 'counter'

const perWorker: readonly (readonly [name: keyof WorkerStats, type: Type, help: string])[] = [
  ['scheduled', 'gauge', 'Timers in the wheel of a worker.'],
  ['running', 'gauge', 'Tasks that wait for a promise.'],
  ['stale', 'gauge', 'Entries of a wheel that other threads have made stale.'],
  ['fired', 'counter', 'Tasks that have ended.'],
  ['failed', 'counter', 'Tasks that have failed.'],
  ['cancelled', 'counter', 'Timers that a worker has cancelled.'],
  ['removed', 'counter', 'Stale entries that were removed.'],
  ['adopted', 'counter', 'Timers that came from another thread.'],
]

/** The statistics of a pool in the text format of Prometheus, to be appended to the metrics of a program. */
export function poolMetrics(stats: PoolStats): string {
  const lines: string[] = []
  for (const [name, type, help] of perWorker) {
    lines.push(...head(nameOf(name, type), type, help))
    for (const worker of stats.workers)
      lines.push(`${nameOf(name, type)}{worker="${worker.worker}"} ${worker[name]}`)
  }
  const one = (name: string, type: Type, help: string, value: number): void => {
    lines.push(...head(nameOf(name, type), type, help), `${nameOf(name, type)} ${value}`)
  }
  one('interrupted', 'counter', 'Tasks that were running when their worker died.', stats.interrupted)
  one('deaths', 'counter', 'Workers that ended without being asked to.', stats.deaths)
  one('metronome_beats', 'counter', 'How often the metronome was awake.', stats.metronomeBeats)
  one('metronome_late', 'counter', 'How often it was more than 10 ms late.', stats.metronomeLate)
  const delay = stats.metronomeDelayMicros / 1e6
  one('metronome_max_delay_seconds', 'gauge', 'How late it woke a worker at most.', delay)
  return `${lines.join('\n')}\n`
}

function nameOf(name: string, type: Type): string {
  return `carillon_pool_${name}${type === 'counter' ? '_total' : ''}`
}

function head(name: string, type: Type, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`]
}
