// A process that runs all the time: node process.js postgres://… name. You can start several.
import process from 'node:process'
import { openBirthdays } from './birthdays.js'

const [store = '', name = 'process'] = process.argv.slice(2)
const timers = await openBirthdays(store, name)
await timers.start()
console.log(`${name} is ready`)
process.once('SIGTERM', () => void timers.stop())
