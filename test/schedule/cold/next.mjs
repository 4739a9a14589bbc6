// Answers one question in a process that has answered none: prints the processor time of the first `next` of a
// stored schedule, in milliseconds, or of so many questions to Intl, which is the measure of the machine.
import process from 'node:process'
import { parseSchedule } from 'carillon/schedule'

const [what, instant] = process.argv.slice(2)
const work = what === 'intl' ? askIntl(Number(instant)) : askNext(parseSchedule(what), Number(instant))
const before = process.cpuUsage()
const answer = work()
const { user, system } = process.cpuUsage(before)
process.stdout.write(JSON.stringify({ answer, cpuMs: (user + system) / 1000 }))

function askNext(schedule, after) {
  return () => schedule.next(after)
}

function askIntl(count) {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: 'America/New_York',
    hour: 'numeric',
    day: 'numeric',
  })
  return () => {
    let length = 0
    for (let i = 0; i < count; i++) length += format.format(i * 500_000_000).length
    return length
  }
}
