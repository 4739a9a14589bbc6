import { existsSync } from 'node:fs'
import type { Inspection } from '../../../store/index.js'
import { type Command, exitCodes, flagOption } from '../../command.js'
import { printable } from '../../printable.js'
import { apiCommand } from '../api-command.js'
import { failureText, jobEnd } from './store-commands.js'

interface Verified {
  readonly isWhole: boolean
  readonly missing: number
  readonly surplus: number
  readonly rows: number
  readonly store: Readonly<Record<string, number>>
  readonly broken: readonly {
    readonly shard?: number
    readonly missing: number
    readonly rows: number
    readonly counts: Readonly<Record<string, number>>
  }[]
}

const counting = apiCommand({
  name: 'verify',
  usage: '[--deep]',
  summary: 'Count every row and check: created = pending + settled + cancelled + replaced + dead.',
  options: { deep: flagOption },
  help: [
    ['--deep', 'also read every row and every checksum, and wait until it is done'],
    ['', 'Exits with 1 if the rows and the counters of a shard differ, or if anything is damaged.'],
  ],
  examples: [
    'carillon verify',
    'carillon verify --deep',
    'carillon verify --deep --store file:./carillon-data',
  ],
  positionals: [0, 0],
  execute: async (context) => {
    const { api, print, flag, option } = context
    // A file that no server has open was read already, before it was opened.
    if (flag('deep') && !isFile(option('store'))) {
      const job = await jobEnd(context, 'verify')
      if (job.found === undefined || job.found.damageCount > 0) {
        print(job, job.found === undefined ? failureText(job) : inspectedLines(job.found).join('\n'))
        return exitCodes.failed
      }
      if (!context.isJson) print(job, inspectedLines(job.found).join('\n'))
    }
    const answer = await api.call<Verified>('GET', '/v1/verify')
    print(answer, verifiedLines(answer).join('\n'))
    return answer.isWhole ? undefined : exitCodes.failed
  },
})

/** Reads the file of a store that no server has open. LMDB may crash on a damaged one, so this comes before it is opened. */
export const verify: Command = {
  ...counting,
  run: async (given, terminal) => {
    const { store, deep, json } = given.values
    if (deep === true && isFile(store)) {
      const { inspectFile, parseStoreUrl } = await import('../../../store/index.js')
      const { faultOfRow } = await import('../../../server/index.js')
      const location = parseStoreUrl(store)
      const folder = location.kind === 'file' ? location.folder : ''
      if (existsSync(folder)) {
        const found = await inspectFile(folder, { checkRow: faultOfRow })
        const isDamaged = found.damageCount > 0
        if (isDamaged && json === true) terminal.out(`${JSON.stringify(found)}\n`)
        if (json !== true) terminal.out(`${printable(inspectedLines(found).join('\n'))}\n`)
        if (isDamaged) return exitCodes.failed
      }
    }
    return await counting.run(given, terminal)
  },
}

function isFile(store: unknown): store is string {
  return typeof store === 'string' && /^file:/i.test(store)
}

function inspectedLines({ rows, records, checksums, damageCount, damages }: Inspection): string[] {
  const read = `${rows} rows and ${records} records read, ${checksums} checksums`
  if (damageCount === 0) return [`no damage: ${read}`]
  const more = damageCount - damages.length
  return [
    `damaged: ${damageCount} places (${read})`,
    ...damages.map(({ where, what }) => `  ${where}: ${what}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
    'Restore a backup: see docs/operations.md. Until then, nothing may rely on these timers.',
  ]
}

function verifiedLines({ isWhole, missing, surplus, rows, store, broken }: Verified): string[] {
  if (isWhole) return [`whole: ${sumText(rows, store)}`]
  return [
    `not whole: ${missing} missing, ${surplus} too many`,
    ...broken.map(({ shard, missing: lost, ...of }) => {
      const where = shard === undefined ? 'store' : `shard ${shard}`
      const what = lost > 0 ? `${lost} missing` : `${-lost} too many`
      return `  ${where}: ${what}: not ${sumText(of.rows, of.counts)}`
    }),
  ]
}

function sumText(rows: number, counts: Readonly<Record<string, number>>): string {
  const { created, settled, cancelled, replaced, dead: died } = counts
  return `created ${created} = pending ${rows} + settled ${settled} + cancelled ${cancelled} + replaced ${replaced} + dead ${died}`
}
