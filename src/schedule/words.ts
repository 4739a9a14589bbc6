/** The English words and phrases of descriptions. */
export const weekdayWords = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

export const monthWords = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]

/** `'a'`, `'a and b'`, `'a, b and c'`. */
export function listed(items: readonly string[], last = 'and'): string {
  if (items.length < 2) return items.join('')
  return `${items.slice(0, -1).join(', ')} ${last} ${items.at(-1)}`
}

/** Joins ascending integers, with three or more in a row as a range: `'1 to 5 and 9'`. */
export function numbers(values: readonly number[], word: (value: number) => string = String): string {
  const parts: string[] = []
  let start = 0
  for (let i = 1; i <= values.length; i++) {
    if (i < values.length && values[i] === values[i - 1]! + 1) continue
    const run = values.slice(start, i)
    if (run.length > 2) parts.push(`${word(run[0]!)} to ${word(run.at(-1)!)}`)
    else parts.push(...run.map(word))
    start = i
  }
  return listed(parts)
}

/** `'first'`, `'second'`, …, `'last'` for -1, `'second to last'` for -2. */
export function ordinal(position: number): string {
  if (position === -1) return 'last'
  if (position < 0) return `${ordinal(-position)} to last`
  const words = ['first', 'second', 'third', 'fourth', 'fifth']
  return words[position - 1] ?? `${position}th`
}
