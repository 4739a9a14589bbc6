import { InvalidInputError, shown } from '../error/index.js'

/**
 * One field of a cron expression, read into the values it allows. Whatever is not understood is refused with
 * the field's name and what it takes; a step of 0, a range that runs backwards and a step that can only ever
 * hit its first value are refused too, because nobody means them.
 */
export interface FieldSpec {
  readonly name: string
  readonly min: number
  readonly max: number
  /** Names for values, the first for `firstNamed`. */
  readonly names?: readonly string[]
  readonly firstNamed?: number
  readonly example: string
}

export interface FieldRead {
  readonly values: readonly number[]
  /** Whether the field names its values one by one, without a wildcard, range or step. */
  readonly listed: boolean
}

const PART = /^(?:(\*)|([0-9]{1,2}|[A-Z]{3})(?:-([0-9]{1,2}|[A-Z]{3}))?)(?:\/([0-9]{1,4}))?$/

/** Reads the comma-separated parts that are plain values, ranges, steps and wildcards. */
export function readField(parts: readonly string[], spec: FieldSpec): FieldRead {
  const values = new Set<number>()
  let listed = true
  for (const part of parts) {
    const match = PART.exec(part)
    if (match === null) throw fieldError(spec, part, `write it as in ${spec.example}`)
    const [, star, first, last, stepText] = match
    if (star !== undefined || last !== undefined || stepText !== undefined) listed = false
    const from = star === undefined ? valueOf(first!, spec, part) : spec.min
    const until = rangeEnd(part, spec, from, { star, last, stepText })
    if (until < from) {
      throw fieldError(spec, part, `a range runs upwards: write ${first}-${spec.max},${spec.min}-${last}`)
    }
    const step = stepText === undefined ? 1 : Number(stepText)
    if (step === 0) throw fieldError(spec, part, 'a step must be at least 1')
    if (step > 1 && step > until - from) {
      throw fieldError(
        spec,
        part,
        `a step of ${step} would only ever hit ${from}; for longer periods use every()`,
      )
    }
    for (let value = from; value <= until; value += step) values.add(value)
  }
  return { values: [...values].sort((a, b) => a - b), listed }
}

function rangeEnd(
  part: string,
  spec: FieldSpec,
  from: number,
  match: { star: string | undefined; last: string | undefined; stepText: string | undefined },
): number {
  if (match.last !== undefined) {
    const last = valueOf(match.last, spec, part)
    // FRI-SUN runs into the Sunday at the week's end.
    return match.last === 'SUN' && last < from ? 7 : last
  }
  return match.star !== undefined || match.stepText !== undefined ? spec.max : from
}

/** The number of a value or name, refused when out of the field's range. */
export function valueOf(text: string, spec: FieldSpec, part: string): number {
  const named = spec.names?.indexOf(text) ?? -1
  const value = named >= 0 ? named + (spec.firstNamed ?? 0) : Number(text)
  if (value >= spec.min && value <= spec.max) return value
  throw fieldError(spec, part, `it takes ${spec.min} to ${spec.max}`)
}

export function fieldError(spec: FieldSpec, part: string, hint: string): InvalidInputError {
  return new InvalidInputError(
    'invalid-cron',
    `cannot read ${shown(part)} in the ${spec.name} field: ${hint}`,
  )
}
