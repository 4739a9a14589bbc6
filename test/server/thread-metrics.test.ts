import { describe, expect, it } from 'vitest'
import { MAX_METRIC_THREADS } from '../../src/server/defaults.js'
import { threadMetrics } from '../../src/server/monitor/thread-metrics.js'

const counts = { waiting: 3, interrupted: 4, timeouts: 5, deaths: 6 }

describe('the metrics of handlers on threads', () => {
  it('have lines for each kind and for each thread', () => {
    const threads = [
      { thread: 1, running: 1, ended: 10 },
      { thread: 2, running: 0, ended: 20 },
    ]
    const lines = [...threadMetrics([{ namespace: 'a', kind: 'resize', ...counts, threads }])]
    const labels = 'namespace="a",kind="resize"'
    expect(lines.filter((line) => !line.startsWith('#'))).toEqual([
      `carillon_threads{${labels}} 2`,
      `carillon_threads_waiting{${labels}} 3`,
      `carillon_thread_deaths_total{${labels}} 6`,
      `carillon_thread_interrupted_total{${labels}} 4`,
      `carillon_thread_timeouts_total{${labels}} 5`,
      `carillon_thread_running{${labels},thread="1"} 1`,
      `carillon_thread_running{${labels},thread="2"} 0`,
      `carillon_thread_ended_total{${labels},thread="1"} 10`,
      `carillon_thread_ended_total{${labels},thread="2"} 20`,
    ])
  })

  it('have a limited number of lines, and none without threads', () => {
    const threads = Array.from({ length: 1024 }, (_, at) => ({ thread: at + 1, running: 0, ended: 0 }))
    const lines = [...threadMetrics([{ namespace: 'a', kind: 'resize', ...counts, threads }])]
    expect(lines.filter((line) => line.startsWith('carillon_thread_ended'))).toHaveLength(MAX_METRIC_THREADS)
    expect([...threadMetrics([])]).toEqual([])
  })
})
