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

/** A URL for an error message, without the user and password in it. */
export function shownUrl(url: unknown): string {
  return shown(typeof url === 'string' ? withoutPassword(url) : url)
}

/** A text without what stands before the @ of a URL in it. */
export function withoutPassword(text: string): string {
  return text.replace(/(:\/*)[^\s/]*(?:\/[^\s]*)?@/g, '$1…@')
}

function clipped(text: string): string {
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH)}…`
}
