import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type PostgresServer, startPostgres } from '../servers/postgres.js'

const compiled = fileURLToPath(new URL('../../.carillon/run/examples', import.meta.url))
const examples = readdirSync(fileURLToPath(new URL('../../examples', import.meta.url)))
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.replace(/\.ts$/, ''))

/** The last line that each example must print. */
const lastLines: Readonly<Record<string, RegExp>> = {
  billing: /^12 bills in a year, on 3 different days$/,
  'bulk-import': /^49989 wait, 11 were cancelled by their prefix$/,
  reminders: /^1 reminder, for the dentist$/,
  serverless: /^1,2,3 sent$/,
  tenants: /^3 told, 2 of them acme's$/,
  trial: /^4 messages: warned bob, warned cleo, locked cleo, locked bob$/,
  birthday: /^12 messages in three years, one a year for each: true$/,
  'birthday-postgres': /^80 messages, one for each: true; 80 wait for next year$/,
  cache: /^40 requests, 4 fetches, hit rate 90 %$/,
  debounce: /^80 changes, 3 rebuilds, 2 of them because it never was quiet$/,
  demonstration: /^Stopped after [\d,]+ fired, none early\./,
  remote: /^Ada, Bob, Cleo have theirs, 0 left$/,
  'quick-start': /^reminded of order:9, order 9, attempt 1$/,
  'saga-timeout': /^1 paid, 2 steps undone, 1 for a human$/,
  schedule: /^ {2}4 unchanged, 0 added, 0 moved$/,
  threads: /^failed attempts: endless, none; dead letters: none$/,
  'timing-wheel': /^order:8 was removed, nothing more to ring$/,
  'webhook-receiver': /^1 message dealt with$/,
  'visibility-queue': /^2 deleted, 1 given up after 3 receives, 0 invisible$/,
  workers: /^6 films done, once each: true$/,
  wheel: /^tick 70: "far" fires, nothing is left$/,
}

let server: PostgresServer

beforeAll(async () => {
  server = await startPostgres()
})

afterAll(async () => {
  await server.stop()
})

function argumentsOf(name: string): readonly string[] {
  if (name === 'demonstration') return ['--seconds', '2', '--pending', '100000']
  return name === 'birthday-postgres' ? [server.url] : []
}

describe('examples', () => {
  it('each have an expected last line in this test', () => {
    expect(examples.toSorted()).toEqual(Object.keys(lastLines).toSorted())
  })

  it.each(examples)('%s runs and prints its expected last line', (name) => {
    const args = argumentsOf(name)
    const output = execFileSync(process.execPath, [path.join(compiled, `${name}.js`), ...args], {
      encoding: 'utf8',
    })
    expect(output.trimEnd().split('\n').at(-1)).toMatch(lastLines[name]!)
    expect(output).not.toContain('\u001b')
  })
})
