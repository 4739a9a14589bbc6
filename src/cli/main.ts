#!/usr/bin/env node
import { createInterface } from 'node:readline'
import { carillon } from './carillon.js'

process.exitCode = await carillon(process.argv.slice(2), {
  environment: process.env,
  isTerminal: process.stderr.isTTY,
  isScreen: process.stdout.isTTY,
  out: (text) => void process.stdout.write(text),
  error: (text) => void process.stderr.write(text),
  lines: () => createInterface({ input: process.stdin, crlfDelay: Infinity }),
})
