import { writeFile } from 'node:fs/promises'
import process from 'node:process'
import { type Bench, parseMeasurement, type Task } from './bench.js'
import { CoreWait } from './core-wait.js'
import { outputOf, type Command, Workshop } from './command.js'
import { reportOf, type Result, thisMachine } from './report.js'
import { helpText, parseSettings, type Settings, UsageError } from './settings.js'
import { tableOf } from './table.js'

const WIDTH_WITHOUT_TERMINAL = 120

/**
 * Runs a bench. Candidates take turns, and each round begins with another one, so that a machine that slows down affects all
 * of them. The report goes to standard output, everything else to standard error. The exit code is 2 for an invalid command
 * line, and 1 if a candidate failed or did different work.
 */
export async function runBench(bench: Bench, args: readonly string[] = process.argv.slice(2)): Promise<void> {
  if (args[0] === 'measure') {
    await measureHere(bench, args.slice(1))
    return
  }
  try {
    const settings = parseSettings(args, bench)
    if (settings === undefined) process.stdout.write(helpText(bench))
    else await compare(bench, settings)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 2
  }
}

/** The child's side: measures one candidate once and prints JSON. Also useful to profile a candidate. */
async function measureHere(bench: Bench, [name, n, seed]: readonly string[]): Promise<void> {
  const candidate = bench.candidates.find((known) => known.name === name)
  if (candidate === undefined || !('measure' in candidate)) throw new Error(`cannot measure '${name}' here`)
  const coreWait = new CoreWait()
  const measurement = await candidate.measure({ n: Number(n), seed: Number(seed) })
  const notes = [...measurement.notes, ...coreWait.notes()]
  process.stdout.write(`${JSON.stringify({ ...measurement, notes })}\n`)
}

async function compare(bench: Bench, settings: Settings): Promise<void> {
  const machine = thisMachine()
  const workshop = await Workshop.open()
  try {
    const results = await measureAll(bench, settings, workshop)
    const report = reportOf(bench, settings, machine, results)
    const json = `${JSON.stringify(report, undefined, 2)}\n`
    if (typeof settings.json === 'object') await writeFile(settings.json.file, json)
    if (settings.json === 'stdout') process.stdout.write(json)
    else {
      const width = process.stdout.columns ?? WIDTH_WITHOUT_TERMINAL
      process.stdout.write(tableOf(report, { width, colour: process.stdout.isTTY }))
    }
    if (report.disagreements.length > 0 || results.some(({ failed }) => failed !== undefined)) {
      process.exitCode = 1
    }
  } finally {
    await workshop.remove()
  }
}

async function measureAll(bench: Bench, settings: Settings, workshop: Workshop): Promise<Result[]> {
  const { n, seed } = settings
  const task: Task = { n, seed }
  const entrants: { readonly result: Result; readonly command: Command }[] = []
  const results: Result[] = []
  for (const candidate of settings.candidates) {
    const result: Result = { candidate, measurements: [] }
    results.push(result)
    if ('source' in candidate) say(`${bench.name}: compiling ${candidate.source}`)
    const readied = await workshop.ready(candidate, task)
    if ('absent' in readied) result.absent = readied.absent
    else entrants.push({ result, command: readied.command })
  }
  for (let round = 0; round < settings.rounds; round++) {
    for (let turn = 0; turn < entrants.length; turn++) {
      const { result, command } = entrants[(round + turn) % entrants.length]!
      const { name, mostRounds = Infinity } = result.candidate
      if (round >= mostRounds || result.failed !== undefined) continue
      const began = performance.now()
      try {
        result.measurements.push(parseMeasurement(await outputOf(command, bench.longestRunMs), bench))
      } catch (error) {
        result.failed = error instanceof Error ? error.message : String(error)
      }
      const seconds = ((performance.now() - began) / 1000).toFixed(1)
      const word = result.failed === undefined ? '' : ', failed'
      say(`${bench.name}: round ${round + 1} of ${settings.rounds}, ${name} took ${seconds} s${word}`)
    }
  }
  return results
}

function say(sentence: string): void {
  process.stderr.write(`${sentence}\n`)
}
