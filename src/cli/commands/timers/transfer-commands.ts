import type { ApiClient } from '../../api-client.js'
import { apiCommand, type CommandContext } from '../api-command.js'
import { type Command, exitCodes, stringOption } from '../../command.js'
import { IMPORT_ROWS, PROGRESS_EVERY } from '../../defaults.js'

interface ListedTimer {
  readonly kind: string
  readonly key: string
  readonly state: string
  readonly dueAt: number
  readonly payload?: unknown
  readonly tags: readonly string[]
  readonly on?: unknown
}

const exportTimers = apiCommand({
  name: 'export',
  usage: '[options] > timers.ndjson',
  summary: 'Write timers as lines of JSON, which import reads.',
  options: { kind: stringOption },
  help: [
    ['--kind', 'only this kind'],
    ['', 'It writes schedules, but no pauses, attempts or history.'],
  ],
  examples: ['carillon export > timers.ndjson'],
  positionals: [0, 0],
  execute: async ({ api, terminal, option }) => {
    let count = 0
    for await (const timer of api.pages<ListedTimer>('/v1/timers', { kind: option('kind') }, Infinity)) {
      terminal.out(`${JSON.stringify(rowOf(timer))}\n`)
      if (++count % PROGRESS_EVERY === 0) terminal.error(`${count} timers\n`)
    }
    terminal.error(`${count} timers written\n`)
    return undefined
  },
})

function rowOf({ kind, key, dueAt, payload, tags, on }: ListedTimer): object {
  return {
    kind,
    key,
    ...(on === undefined ? { at: dueAt } : { on }),
    ...(payload !== undefined && { payload }),
    ...(tags.length > 0 && { tags }),
  }
}

const importTimers = apiCommand({
  name: 'import',
  usage: '< timers.ndjson',
  summary: 'Set timers from lines of JSON, as export writes them.',
  options: {},
  help: [],
  examples: ['carillon import < timers.ndjson'],
  positionals: [0, 0],
  execute: async (context) => {
    const counts: Record<string, number> = {}
    let lines: string[] = []
    let first = 1
    const send = async (): Promise<void> => {
      await sendRows(context, lines, first, counts)
      first += lines.length
      lines = []
    }
    for await (const line of context.terminal.lines()) {
      lines.push(line)
      if (lines.length === IMPORT_ROWS) await send()
    }
    if (lines.length > 0) await send()
    const sums = Object.entries(counts).map(([outcome, count]) => `${count} ${outcome}`)
    context.print(counts, sums.length === 0 ? 'nothing to import' : sums.join(', '))
    return counts['refused'] === undefined && counts['failed'] === undefined ? undefined : exitCodes.failed
  },
})

async function sendRows(
  { api, terminal }: { readonly api: ApiClient; readonly terminal: CommandContext['terminal'] },
  lines: readonly string[],
  first: number,
  counts: Record<string, number>,
): Promise<void> {
  const numbers: number[] = []
  const rows: unknown[] = []
  for (const [at, line] of lines.entries()) {
    if (line.trim() === '') continue
    numbers.push(first + at)
    rows.push(parsed(line))
  }
  const answers = await api.call<{ outcome: string; detail?: string }[]>('POST', '/v1/batch', rows)
  for (const [at, { outcome, detail }] of answers.entries()) {
    counts[outcome] = (counts[outcome] ?? 0) + 1
    if (detail !== undefined) terminal.error(`line ${numbers[at]}: ${detail}\n`)
  }
  if ((first - 1 + lines.length) % PROGRESS_EVERY === 0) terminal.error(`${first - 1 + lines.length} lines\n`)
}

/** A line that is not JSON goes to the server as a string, which refuses it as a row. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return line
  }
}

export const transferCommands: readonly Command[] = [exportTimers, importTimers]
