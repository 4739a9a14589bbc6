import type { Row } from '../net/driver.js'

/** An integer column; 0 for a null. */
export function numberOf(row: Row, name: string): number {
  const value = row[name]
  return typeof value === 'number' ? value : 0
}

/** A string column. */
export function stringOf(row: Row, name: string): string {
  return String(row[name])
}

/** An array column, in the bytes that `array_send` makes of it. */
export function arrayOf(row: Row, name: string): Buffer | null {
  const value = row[name]
  return Buffer.isBuffer(value) ? value : null
}

/** The part of a select list that asks for array columns in binary. */
export function sentArrays(names: readonly string[]): string {
  return names.map((name) => `array_send(${name}) as ${name}`).join(', ')
}
