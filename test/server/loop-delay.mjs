// Loaded into a process before its program: measures the event loop delay, and sends it to the parent on request.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import process from 'node:process'

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
process.on('message', (command) => {
  if (command === 'reset') delay.reset()
  const ms = (nanoseconds) => nanoseconds / 1e6
  process.send({
    count: delay.count,
    p50: ms(delay.percentile(50)),
    p99: ms(delay.percentile(99)),
    p999: ms(delay.percentile(99.9)),
    max: ms(delay.max),
  })
})
// The channel must not keep the program alive.
process.channel?.unref()
