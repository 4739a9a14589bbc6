// Measures the work of `next` in a new process. It prints the result of the first `next` of a stored
// schedule, the number of calls of Intl, and the number of steps. A step is a function call or an entered
// block. Then it prints the same for a second `next`, for an argument one second later. Nothing is compiled
// (--no-opt), so the numbers are exact and the same on every machine.
import { Session } from 'node:inspector'
import process from 'node:process'

let questions = 0
const format = Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, 'format')
Object.defineProperty(Intl.DateTimeFormat.prototype, 'format', {
  configurable: true,
  get() {
    const ask = format.get.call(this)
    return (date) => {
      questions++
      return ask(date)
    }
  },
})

const session = new Session()
session.connect()
post('Profiler.enable')
post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
// V8 counts blocks only in modules that are loaded after this.
const { parseSchedule } = await import('carillon/schedule')

const [text, instant] = process.argv.slice(2)
const schedule = parseSchedule(text)

post('Profiler.takePreciseCoverage')
const first = workOf(Number(instant))
const second = workOf(Number(instant) + 1000)
process.stdout.write(JSON.stringify({ ...first, second }))

function workOf(after) {
  questions = 0
  const answer = schedule.next(after)
  const { result } = post('Profiler.takePreciseCoverage')
  let steps = 0
  for (const { url, functions } of result) {
    if (!url.includes('/schedule/') || url === import.meta.url) continue
    for (const { ranges } of functions) for (const { count } of ranges) steps += count
  }
  return { answer, questions, steps }
}

function post(method, parameters) {
  let answered
  session.post(method, parameters, (error, value) => {
    if (error) throw new Error(`${method}: ${error.message}`)
    answered = value
  })
  return answered
}
