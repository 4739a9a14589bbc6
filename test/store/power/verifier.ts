/**
 * Rebuilds the disk at some points of a recording, opens each with the real store, and compares it with what was
 * acknowledged by then. It prints one line of JSON per point, so that the parent knows at which point this process died.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'
import { FileStore } from 'carillon/store'
import { Random } from 'carillon/testing'
import { Ledger } from '../chaos/ledger.js'
import { type ReportLine, parseReportLine } from '../chaos/report.js'
import { Disk } from './disk.js'
import { type DiskCall, readRecording } from './recording.js'

/** The result of one point. */
export interface Verdict {
  readonly point: number
  readonly how: string
  readonly faults: readonly string[]
  readonly acknowledged: number
  readonly copies: number
}

const [home = '', recording = '', scratch = '', seed = '1', plan = '', plant = ''] = process.argv.slice(2)
const calls = readRecording(recording)
const ledgerFile = path.join(home, 'ledger')
const lines = linesOf(calls)
const disk = new Disk(home)
let applied = 0

for (const point of (JSON.parse(readFileSync(plan, 'utf8')) as number[]).toSorted((a, b) => a - b)) {
  while (applied < point) {
    const call = calls[applied++]!
    if (call.path !== ledgerFile && !isDropped(call)) disk.take(call)
  }
  process.stdout.write(`${JSON.stringify(await verdict(point))}\n`)
}

async function verdict(point: number): Promise<Verdict> {
  const folder = path.join(scratch, `point-${point}`)
  const random = new Random(Number(seed), point)
  const how = disk.rebuild(folder, random, calls[point]!)
  const reported = lines.filter(({ at }) => at < point).map(({ line }) => line)
  const ledger = ledgerOf(reported)
  const faults = await faultsOf(path.join(folder, 'store'), ledger)
  const copies = reported.flatMap((line, index) => (line.type === 'backed-up' ? [{ line, index }] : []))
  // Check the newest backup and one of the others.
  const checked = new Set([copies.at(-1), copies[random.below(Math.max(1, copies.length))]])
  for (const copy of checked) {
    if (copy === undefined) continue
    const copied = path.join(folder, path.relative(home, copy.line.folder))
    if (!existsSync(copied)) faults.push(`the backup ${copy.line.folder} is missing`)
    else {
      const found = await faultsOf(copied, ledgerOf(reported.slice(0, copy.index)))
      faults.push(...found.map((fault) => `in a backup: ${fault}`))
    }
  }
  if (faults.length === 0) rmSync(folder, { recursive: true, force: true })
  return {
    point,
    how,
    faults: faults.slice(0, 10),
    acknowledged: ledger.acknowledged,
    copies: [...checked].filter((copy) => copy !== undefined).length,
  }
}

async function faultsOf(folder: string, ledger: Ledger): Promise<string[]> {
  try {
    const store = await FileStore.open(folder)
    try {
      return await ledger.check(store)
    } finally {
      await store.stop()
    }
  } catch (error) {
    return [`the store does not open: ${String(error)}`]
  }
}

function ledgerOf(reported: readonly ReportLine[]): Ledger {
  const ledger = new Ledger()
  for (const line of reported) ledger.take(line)
  return ledger
}

/** The reports of the workload, with the index of each among the recorded calls. */
function linesOf(all: readonly DiskCall[]): { readonly at: number; readonly line: ReportLine }[] {
  return all.flatMap((call, at) => {
    if (call.type !== 'write' || call.path !== ledgerFile) return []
    const line = parseReportLine(call.bytes.toString())
    return line === undefined ? [] : [{ at, line }]
  })
}

/** Whether a planted fault leaves out this flush. The trial must notice. */
function isDropped({ type, path: name }: DiskCall): boolean {
  if (type !== 'sync') return false
  const isFile = name.endsWith('.mdb')
  return (plant === 'no-sync' && isFile) || (plant === 'no-folder-sync' && !isFile)
}
