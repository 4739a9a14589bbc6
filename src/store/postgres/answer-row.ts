import type { Row } from './driver.js'

/** A column that is a whole number; 0 for a null. */
export function numberOf(row: Row, name: string): number {
  const value = row[name]
  return typeof value === 'number' ? value : 0
}

/** A column that is a text. */
export function textOf(row: Row, name: string): string {
  return String(row[name])
}

/** A column that is a list as `array_send` writes it. */
export function listOf(row: Row, name: string): Buffer | null {
  const value = row[name]
  return Buffer.isBuffer(value) ? value : null
}

/** Lists among the columns of a function's answer, as they are to be asked for. */
export function sent(names: readonly string[]): string {
  return names.map((name) => `array_send(${name}) as ${name}`).join(', ')
}
