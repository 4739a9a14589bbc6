import process from 'node:process'

export function heading(text: string): void {
  process.stdout.write(`\n${text}\n`)
}

/** One figure: what it is, its value, and what a reader needs to judge it. */
export function line(what: string, value: string, note = ''): void {
  process.stdout.write(`  ${what.padEnd(44)} ${value.padStart(16)}  ${note}`.trimEnd() + '\n')
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`
}

/** Three digits: more would be noise. */
export function digits(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}
