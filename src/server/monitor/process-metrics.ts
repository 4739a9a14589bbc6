import { readdirSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Clock, Wake } from '../../time/index.js'
import { LOOP_WINDOW_MS } from '../defaults.js'
import { version } from '../version.js'
import { metric, metricOf } from './metric-text.js'

/**
 * The metrics of the process. The delay of the event loop is that of the last one to two windows of `LOOP_WINDOW_MS`, so
 * a blocked loop shows at once, and is forgotten again.
 */
export class ProcessMetrics {
  readonly #clock: Clock
  readonly #loop = monitorEventLoopDelay({ resolution: 10 })
  readonly #startedAt: number
  #lastP99 = 0
  #wake: Wake | undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.#startedAt = clock.now() / 1000 - process.uptime()
    this.#loop.enable()
    this.#begin()
  }

  stop(): void {
    this.#wake?.cancel()
    this.#loop.disable()
  }

  *text(): Generator<string> {
    const { rss, heapUsed } = process.memoryUsage()
    const { user, system } = process.cpuUsage()
    yield* metricOf('carillon_build_info', 'gauge', 'The version of Carillon and of Node.js.', [
      [`version="${version}",node="${process.version}"`, 1],
    ])
    yield* metric(
      'process_start_time_seconds',
      'gauge',
      'When the process started, in Unix time.',
      this.#startedAt,
    )
    yield* metric(
      'process_cpu_seconds_total',
      'counter',
      'Processor time of the process.',
      (user + system) / 1e6,
    )
    yield* metric('process_resident_memory_bytes', 'gauge', 'Memory of the process.', rss)
    yield* metric('nodejs_heap_used_bytes', 'gauge', 'Memory of the heap in use.', heapUsed)
    const files = openFiles()
    if (files !== undefined) yield* metric('process_open_fds', 'gauge', 'Open files and sockets.', files)
    yield* metric(
      'carillon_event_loop_delay_p99_seconds',
      'gauge',
      'Delay of the event loop in the last minute or two.',
      Math.max(this.#lastP99, this.#p99()),
    )
  }

  #begin(): void {
    this.#wake = this.#clock.wakeAfter(
      LOOP_WINDOW_MS,
      () => {
        this.#lastP99 = this.#p99()
        this.#loop.reset()
        this.#begin()
      },
      { keepAlive: false },
    )
  }

  #p99(): number {
    return this.#loop.percentile(99) / 1e9
  }
}

/** Only Linux lists them. */
function openFiles(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return undefined
  }
}
