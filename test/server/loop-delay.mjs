// Loaded into a process before its program: measures how late its event loop is, and tells whoever started it.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import process from 'node:process'

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
process.on('message', (asked) => {
  if (asked === 'reset') delay.reset()
  const ms = (nanoseconds) => nanoseconds / 1e6
  process.send({
    count: delay.count,
    p50: ms(delay.percentile(50)),
    p99: ms(delay.percentile(99)),
    p999: ms(delay.percentile(99.9)),
    max: ms(delay.max),
  })
})
// Listening for it does not keep the program alive.
process.channel?.unref()
