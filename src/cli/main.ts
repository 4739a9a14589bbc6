#!/usr/bin/env node
import { createInterface } from 'node:readline'
import { carillon } from './carillon.js'
import { OutputClosedError } from './command.js'
import { LogLines } from './log-lines.js'

let isOutputClosed = false
const errorLines = new LogLines(process.stderr)
// Without a listener, a closed pipe would end the process with a stack trace.
process.stdout.on('error', () => (isOutputClosed = true))
process.stderr.on('error', () => undefined)

process.exitCode = await carillon(process.argv.slice(2), {
  environment: process.env,
  isTerminal: process.stderr.isTTY,
  isScreen: process.stdout.isTTY,
  isInteractive: process.stdin.isTTY,
  out: (text) => {
    if (isOutputClosed) throw new OutputClosedError()
    process.stdout.write(text)
  },
  error: (text) => errorLines.write(text),
  lines: () => createInterface({ input: process.stdin, crlfDelay: Infinity }),
})
