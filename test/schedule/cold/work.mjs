// Answers one question in a process that has answered none and counts the work: prints the answer of the first
// `next` of a stored schedule, how many questions it put to Intl, and how many steps it took, a step being a
// function that was called or a block that was entered; then the same for a second `next`, a second later. Nothing
// is compiled (--no-opt), so the numbers are exact and the same on every machine.
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
// Blocks are counted only in what is loaded after that.
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
