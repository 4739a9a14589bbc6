// A live demonstration of the wheel, run by `npm start`. It keeps a million timers pending, and sets each again when it
// fires. It shows the rate and the lateness once a second. Ctrl-C ends it.
//
//   npm start -- --pending 1000000 --seconds 10
import { parseArgs } from 'node:util'
import { Wheel } from 'carillon/wheel'

const HELP = `A live demonstration of the timing wheel.

  --pending N   timers kept pending, 1 to 20000000 (default 1000000)
  --spread MS   delays are drawn from 1 to MS milliseconds (default 20000)
  --seconds N   stop after N seconds (default: run until Ctrl-C)
  --help        show this
`

const { pending, spreadMs, seconds } = readArguments()
const dueAt = new Float64Array(pending)
const wheel = new Wheel({ reserve: pending })
const startedAt = performance.now()
// A histogram of lateness, in tenths of a millisecond, up to a second.
const lateness = new Uint32Array(10_001)
let fired = 0
let early = 0
let total = 0
let nowMs = 0

function fire(token: number): void {
  const late = nowMs - dueAt[token]!
  if (late < 0) early++
  lateness[Math.min(Math.max(Math.round(late * 10), 0), 10_000)]!++
  fired++
  setAgain(token)
}

function setAgain(token: number): void {
  const due = nowMs + 1 + Math.random() * spreadMs
  dueAt[token] = due
  wheel.set(Math.ceil(due), token)
}

function percentile(share: number): string {
  let left = fired * share
  const at = lateness.findIndex((count) => (left -= count) <= 0)
  return `${(Math.max(at, 0) / 10).toFixed(1)} ms`
}

function report(elapsedMs: number): void {
  const { bytes, size } = wheel.stats()
  const line =
    `${formatted(size)} pending (${(bytes / size).toFixed(1)} bytes each)   ` +
    `${formatted((fired / elapsedMs) * 1000)} fired per second   ` +
    `lateness p50 ${percentile(0.5)}  p99 ${percentile(0.99)}`
  if (process.stdout.isTTY) process.stdout.write(`\r\u001b[K${line}`)
  else process.stdout.write(`${line}\n`)
  total += fired
  fired = 0
  lateness.fill(0)
}

process.stdout.write('Carillon: a durable timer engine. Its in-memory wheel, live:\n')
for (let token = 0; token < pending; token++) setAgain(token)
nowMs = performance.now() - startedAt
process.stdout.write(
  `${formatted(pending)} timers set in ${(nowMs / 1000).toFixed(2)} s. Ctrl-C ends the show.\n`,
)

let reportedAt = nowMs
const ticking = setInterval(() => {
  nowMs = performance.now() - startedAt
  wheel.advance(Math.floor(nowMs), fire)
  if (nowMs - reportedAt < 1000) return
  report(nowMs - reportedAt)
  reportedAt = nowMs
  if (nowMs > seconds * 1000) stop()
}, 1)

process.once('SIGINT', stop)
process.once('SIGTERM', stop)

function stop(): void {
  clearInterval(ticking)
  process.stdout.write(
    `${process.stdout.isTTY ? '\n' : ''}Stopped after ${formatted(total + fired)} fired, ${early === 0 ? 'none' : early} early.\n`,
  )
  if (process.stdout.isTTY)
    process.stdout.write('Next: read README.md, try `npm run bench wheel`, run `npm test`.\n')
}

function formatted(count: number): string {
  return Math.round(count).toLocaleString('en-US')
}

function readArguments(): { pending: number; spreadMs: number; seconds: number } {
  try {
    const { values } = parseArgs({
      options: {
        pending: { type: 'string', default: '1000000' },
        spread: { type: 'string', default: '20000' },
        seconds: { type: 'string', default: 'Infinity' },
        help: { type: 'boolean', default: false },
      },
    })
    if (values.help) {
      process.stdout.write(HELP)
      process.exit(0)
    }
    return {
      pending: wholeNumber('--pending', values.pending, 20_000_000),
      spreadMs: wholeNumber('--spread', values.spread, 2 ** 31),
      seconds: values.seconds === 'Infinity' ? Infinity : wholeNumber('--seconds', values.seconds, 1_000_000),
    }
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`)
    process.exit(2)
  }
}

function wholeNumber(name: string, text: string, max: number): number {
  const value = Number(text)
  if (Number.isInteger(value) && value >= 1 && value <= max) return value
  throw new Error(`${name} must be an integer from 1 to ${max}, got ${text}`)
}
