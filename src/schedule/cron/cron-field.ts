import { InvalidInputError, shown } from '../../error/index.js'

/**
 * The specification of one cron field. Errors name the field and what it takes. A step of 0, a backward range
 * and a step that only ever hits its first value are refused, too, because nobody means them.
 */
export interface FieldSpec {
  readonly name: string
  readonly min: number
  readonly max: number
  /** Names of values. The first is the name of `firstNamed`. */
  readonly names?: readonly string[]
  readonly firstNamed?: number
  readonly example: string
}

export interface FieldRead {
  readonly values: readonly number[]
  /** Whether the field lists its values one by one, without a wildcard, range or step. */
  readonly isListed: boolean
}

const PART = /^(?:(\*)|([0-9]{1,2}|[A-Z]{3})(?:-([0-9]{1,2}|[A-Z]{3}))?)(?:\/([0-9]{1,4}))?$/

/** Parses the values, ranges, steps and wildcards of a field. */
export function readField(parts: readonly string[], spec: FieldSpec): FieldRead {
  const values = new Set<number>()
  let isListed = true
  for (const part of parts) {
    const match = PART.exec(part)
    if (match === null) throw fieldError(spec, part, `write it as in ${spec.example}`)
    const [, star, first, last, stepText] = match
    if (star !== undefined || last !== undefined || stepText !== undefined) isListed = false
    const from = star === undefined ? valueOf(first!, spec, part) : spec.min
    const until = rangeEnd(part, spec, from, { star, last, stepText })
    if (until < from) {
      throw fieldError(
        spec,
        part,
        `a range must not run backwards: write ${first}-${spec.max},${spec.min}-${last}`,
      )
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
  return { values: [...values].sort((a, b) => a - b), isListed }
}

function rangeEnd(
  part: string,
  spec: FieldSpec,
  from: number,
  match: { star: string | undefined; last: string | undefined; stepText: string | undefined },
): number {
  if (match.last !== undefined) {
    const last = valueOf(match.last, spec, part)
    // `FRI-SUN` ends on the Sunday at the end of the week, which is 7.
    return match.last === 'SUN' && last < from ? 7 : last
  }
  return match.star !== undefined || match.stepText !== undefined ? spec.max : from
}

/** Returns the number of a value or name. Throws if it is out of the field's range. */
export function valueOf(text: string, spec: FieldSpec, part: string): number {
  const named = spec.names?.indexOf(text) ?? -1
  const value = named >= 0 ? named + (spec.firstNamed ?? 0) : Number(text)
  if (value >= spec.min && value <= spec.max) return value
  throw fieldError(spec, part, `values run from ${spec.min} to ${spec.max}`)
}

export function fieldError(spec: FieldSpec, part: string, hint: string): InvalidInputError {
  return new InvalidInputError(
    'invalid-cron',
    `cannot read ${shown(part)} in the ${spec.name} field: ${hint}`,
  )
}
