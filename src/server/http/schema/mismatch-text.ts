import type { TSchema } from '@sinclair/typebox'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/compiler'
import { shown } from '../../../error/index.js'

/** A schema as far as its description in words needs it. */
interface Described {
  readonly type?: string
  readonly const?: unknown
  readonly anyOf?: readonly Described[]
  readonly properties?: Readonly<Record<string, Described>>
  readonly description?: string
  readonly wanted?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minProperties?: number
  readonly pattern?: string
}

/** Says which field of a request is wrong, what was wanted, and what was got. `whole` names the request's part. */
export function mismatchText(errors: Iterable<ValueError>, whole: string): string {
  const first = deepest(errors)
  if (first === undefined) return `${whole} does not match its schema`
  const field = fieldOf(first.path)
  const name = field === '' ? whole : `\`${field}\``
  const schema = first.schema as Described
  if (first.type === ValueErrorType.ObjectRequiredProperty)
    return `${name} is missing: it must be ${wantedOf(schema)}`
  if (first.type === ValueErrorType.ObjectAdditionalProperties)
    return `unknown field ${name}: the known ones are ${Object.keys(schema.properties ?? {}).join(', ')}`
  return `${name} must be ${wantedOf(schema)}, got ${shown(first.value)}`
}

/**
 * The first error. If a value fits no member of a union, the member that it came closest to says more: the one with
 * the error farthest inside.
 */
function deepest(errors: Iterable<ValueError>): ValueError | undefined {
  const [first] = errors
  if (first?.type !== ValueErrorType.Union) return first
  const inner = first.errors
    .map((each) => deepest(each))
    .filter((each) => each !== undefined)
    // A member with another constant is not the one that was meant.
    .filter((each) => each.path !== first.path && each.type !== ValueErrorType.Literal)
  return inner.toSorted((a, b) => b.path.length - a.path.length)[0] ?? first
}

/** `/retry/attempts` and `/tags/1` as they are written in a program. */
function fieldOf(path: string): string {
  const parts = path
    .split('/')
    .slice(1)
    .map((part) => part.replace(/~1/g, '/').replace(/~0/g, '~'))
  return parts.reduce(
    (text, part) => (/^\d+$/.test(part) ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`),
    '',
  )
}

function wantedOf(schema: Described): string {
  if (schema.wanted !== undefined) return schema.wanted
  if (schema.const !== undefined) return shown(schema.const)
  if (schema.anyOf !== undefined) return oneOf(schema.anyOf.map(wantedOf))
  switch (schema.type) {
    case 'string':
      return schema.pattern === undefined
        ? `a string${rangeText(schema.minLength, schema.maxLength, 'characters')}`
        : `a string that matches ${schema.pattern}`
    case 'integer':
    case 'number':
      return `${schema.type === 'integer' ? 'an integer' : 'a number'}${limitsOf(schema)}`
    case 'boolean':
      return 'true or false'
    case 'array':
      return `an array${rangeText(schema.minItems, schema.maxItems, 'items')}`
    case 'object':
      return schema.minProperties === undefined ? 'an object' : 'an object that is not empty'
    case undefined:
    default:
      return 'another value'
  }
}

function limitsOf({ minimum, maximum, exclusiveMinimum }: Described): string {
  if (exclusiveMinimum !== undefined) return ` above ${exclusiveMinimum}`
  if (minimum === undefined) return maximum === undefined ? '' : ` up to ${maximum}`
  return maximum === undefined ? ` from ${minimum}` : ` from ${minimum} to ${maximum}`
}

function rangeText(least: number | undefined, most: number | undefined, what: string): string {
  if (most !== undefined)
    return least === undefined ? ` of up to ${most} ${what}` : ` of ${least} to ${most} ${what}`
  return least === undefined ? '' : ` of at least ${least} ${what}`
}

function oneOf(texts: readonly string[]): string {
  const different = [...new Set(texts)]
  return different.length < 2
    ? (different[0] ?? 'nothing')
    : `${different.slice(0, -1).join(', ')} or ${different.at(-1)}`
}

/** Adds to a schema what its messages say. A document shows nothing of it. */
export function saying<Schema extends TSchema>(schema: Schema, wanted: string): Schema {
  return { ...schema, wanted }
}
