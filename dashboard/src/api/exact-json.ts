/**
 * JSON whose numbers stay exact. `JSON.parse` rounds 9007199254740993 to …992. Here a number that a double cannot hold
 * becomes an `ExactNumber`, which shows and sends the digits that came.
 */
export class ExactNumber {
  readonly digits: string

  constructor(digits: string) {
    this.digits = digits
  }

  toString(): string {
    return this.digits
  }

  /** For `JSON.stringify`. Browsers without `JSON.rawJSON` send the nearest double, as they always did. */
  toJSON(): unknown {
    return rawJson === undefined ? Number(this.digits) : rawJson(this.digits)
  }
}

const { rawJSON: rawJson } = JSON as { readonly rawJSON?: (text: string) => unknown }

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
// oxlint-disable-next-line no-control-regex -- JSON forbids these characters in strings
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const SPACE = /[ \t\n\r]*/y
const MAX_DEPTH = 200

/** Parses JSON. Throws a `SyntaxError` that names the position. */
export function parseExactly(text: string): unknown {
  // Nearly every answer has no number that is long enough to be rounded, and the built-in parser is faster.
  return /\d[\d.]{14}|\d[eE]/.test(text) ? new Parser(text).document() : JSON.parse(text)
}

/** Writes a value as `JSON.stringify` does, with every exact number as it came. */
export function stringifyExactly(value: unknown, indent = 2): string {
  return write(value, '\n', ' '.repeat(indent))
}

class Parser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  document(): unknown {
    const value = this.#value(0)
    this.#match(SPACE)
    if (this.#at < this.#text.length) throw this.#unexpected()
    return value
  }

  #value(depth: number): unknown {
    if (depth > MAX_DEPTH) throw new SyntaxError(`nested deeper than ${MAX_DEPTH} levels`)
    this.#match(SPACE)
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object(depth)
      case '[':
        return this.#array(depth)
      case '"':
        return this.#string()
      case 't':
        return this.#word('true', true)
      case 'f':
        return this.#word('false', false)
      case 'n':
        return this.#word('null', null)
      case undefined:
      default:
        return this.#number()
    }
  }

  #object(depth: number): unknown {
    const entries: [string, unknown][] = []
    this.#at++
    if (this.#takes('}')) return {}
    do {
      this.#match(SPACE)
      if (this.#text[this.#at] !== '"') throw this.#unexpected()
      const name = this.#string()
      if (!this.#takes(':')) throw this.#unexpected()
      entries.push([name, this.#value(depth + 1)])
    } while (this.#takes(','))
    if (!this.#takes('}')) throw this.#unexpected()
    // Unlike an assignment, `fromEntries` makes `__proto__` an ordinary name.
    return Object.fromEntries(entries)
  }

  #array(depth: number): unknown[] {
    const items: unknown[] = []
    this.#at++
    if (this.#takes(']')) return items
    do items.push(this.#value(depth + 1))
    while (this.#takes(','))
    if (!this.#takes(']')) throw this.#unexpected()
    return items
  }

  #string(): string {
    return JSON.parse(this.#match(STRING) ?? this.#fail()) as string
  }

  #number(): number | ExactNumber {
    const digits = this.#match(NUMBER)
    if (digits === undefined || digits === '') throw this.#unexpected()
    const value = Number(digits)
    return String(value) === digits ? value : isSame(value, digits) ? value : new ExactNumber(digits)
  }

  #word<Value>(word: string, value: Value): Value {
    if (!this.#text.startsWith(word, this.#at)) throw this.#unexpected()
    this.#at += word.length
    return value
  }

  #takes(character: string): boolean {
    this.#match(SPACE)
    if (this.#text[this.#at] !== character) return false
    this.#at++
    return true
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    if (found !== undefined) this.#at += found.length
    return found
  }

  #fail(): never {
    throw this.#unexpected()
  }

  #unexpected(): SyntaxError {
    const found = this.#text[this.#at]
    return new SyntaxError(
      found === undefined
        ? 'the JSON ends too early'
        : `unexpected ${JSON.stringify(found)} at character ${this.#at + 1}`,
    )
  }
}

/** Whether a double means the same number as its digits: `1.50` and `1e3` do, `0.1000000000000000055` does not. */
function isSame(value: number, digits: string): boolean {
  return Number.isFinite(value) && decimalOf(String(value)) === decimalOf(digits)
}

/** A number as sign, digits without zeros at the ends, and exponent. */
function decimalOf(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const all = (whole + fraction).replace(/^0+/, '')
  const digits = all.replace(/0+$/, '')
  if (digits === '') return '0'
  return `${sign}${digits}e${Number(exponent) - fraction.length + (all.length - digits.length)}`
}

function write(value: unknown, newline: string, indent: string): string {
  if (value instanceof ExactNumber) return value.digits
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const inner = newline + indent
  if (Array.isArray(value)) {
    const items = value.map((item) => write(item, inner, indent))
    return items.length === 0 ? '[]' : `[${inner}${items.join(`,${inner}`)}${newline}]`
  }
  const entries = Object.entries(value).map(
    ([name, item]) => `${JSON.stringify(name)}: ${write(item, inner, indent)}`,
  )
  return entries.length === 0 ? '{}' : `{${inner}${entries.join(`,${inner}`)}${newline}}`
}
