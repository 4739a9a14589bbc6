import type { Api } from './api.js'
import { apiCommand, type Asking } from './api-command.js'
import { type Command, exitCodes } from './command.js'

const text = { type: 'string' as const }
const AT_ONCE = 1000
const PROGRESS_EVERY = 10_000

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
  summary: 'Write timers as lines that import reads.',
  options: { kind: text },
  help: [
    ['--kind', 'only of this kind'],
    ['', 'A timer on a schedule is written with the schedule; pauses, attempts and history are not written.'],
  ],
  examples: ['carillon export > timers.ndjson'],
  words: [0, 0],
  ask: async ({ api, terminal, text: option }) => {
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
  summary: 'Set timers from lines, one JSON object each, as export writes them.',
  options: {},
  help: [],
  examples: ['carillon import < timers.ndjson'],
  words: [0, 0],
  ask: async (asking) => {
    const counts: Record<string, number> = {}
    let lines: string[] = []
    let first = 1
    const send = async (): Promise<void> => {
      await sendRows(asking, lines, first, counts)
      first += lines.length
      lines = []
    }
    for await (const line of asking.terminal.lines()) {
      lines.push(line)
      if (lines.length === AT_ONCE) await send()
    }
    if (lines.length > 0) await send()
    const told = Object.entries(counts).map(([outcome, count]) => `${count} ${outcome}`)
    asking.say(counts, told.length === 0 ? 'nothing to import' : told.join(', '))
    return counts['refused'] === undefined && counts['failed'] === undefined ? undefined : exitCodes.failed
  },
})

async function sendRows(
  { api, terminal }: { readonly api: Api; readonly terminal: Asking['terminal'] },
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

/** What is no JSON is refused by the server as a row. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return line
  }
}

export const transferCommands: readonly Command[] = [exportTimers, importTimers]
