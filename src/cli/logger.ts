import type { Logger } from 'pino'
import { printable } from './printable.js'

const levels: Readonly<Record<number, string>> = Object.freeze({
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
})

/** A logger that writes JSON lines, or readable lines with the format `text`. Only a server needs its package. */
export async function loggerOf(
  level: string,
  format: string,
  write: (line: string) => void,
): Promise<Logger> {
  const { loadServerPackage } = await import('../server/index.js')
  const { pino } = await loadServerPackage(() => import('pino'))
  const stream = { write: format === 'text' ? (line: string) => write(readable(line)) : write }
  return pino({ level, base: null }, stream)
}

/** A readable line: the time, the level unless it is info, the message, the payload and the error. */
function readable(line: string): string {
  const { time, level, msg, payload, err } = JSON.parse(line) as {
    time: number
    level: number
    msg?: string
    payload?: unknown
    err?: { message?: string }
  }
  const parts = [
    new Date(time).toISOString().slice(11, 23),
    ...(level === 30 ? [] : [levels[level] ?? String(level)]),
    ...(msg === undefined ? [] : [printable(msg)]),
    ...(payload === undefined ? [] : [printable(JSON.stringify(payload))]),
    ...(err?.message === undefined || err.message === msg ? [] : [printable(`(${err.message})`)]),
  ]
  return `${parts.join(' ')}\n`
}
