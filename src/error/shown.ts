const MAX_LENGTH = 60

/** A value for an error message: short, on one line. Never throws. */
export function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return clipped(JSON.stringify(value))
    case 'number':
    case 'boolean':
    case 'undefined':
      return String(value)
    case 'bigint':
      return clipped(`${value}n`)
    case 'symbol':
      return clipped(value.toString())
    case 'function':
      return 'a function'
    case 'object':
      return value === null ? 'null' : Array.isArray(value) ? 'an array' : 'an object'
    default:
      return 'a value of unknown type'
  }
}

function clipped(text: string): string {
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH)}…`
}
