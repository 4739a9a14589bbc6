import fc from 'fast-check'

/** The part of JSON Schema that the server's OpenAPI document uses. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly const?: unknown
  readonly anyOf?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | JsonSchema
  readonly items?: JsonSchema
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly pattern?: string
}

/** A copy without references, for `fitting`. A reference inside itself becomes any value. */
export function dereferenced<Node>(node: Node, root: unknown, seen: readonly string[] = []): Node {
  if (Array.isArray(node)) return node.map((each: unknown) => dereferenced(each, root, seen)) as Node
  if (typeof node !== 'object' || node === null) return node
  const { $ref } = node as { $ref?: unknown }
  if (typeof $ref === 'string') {
    if (seen.includes($ref)) return {} as Node
    return dereferenced(resolved($ref, root), root, [...seen, $ref]) as Node
  }
  return Object.fromEntries(
    Object.entries(node).map(([name, each]) => [name, dereferenced(each, root, seen)]),
  ) as Node
}

/** The first violation of the schema, or undefined. Independent of the validator that the server uses. */
export function misfit(schema: JsonSchema, value: unknown, root: unknown, path = '$'): string | undefined {
  if (schema.$ref !== undefined) return misfit(resolved(schema.$ref, root), value, root, path)
  if (schema.anyOf !== undefined) {
    const faults = schema.anyOf.map((each) => misfit(each, value, root, path))
    return faults.includes(undefined) ? undefined : `${path}: none of ${faults.join(' | ')}`
  }
  if (schema.const !== undefined && schema.const !== value)
    return `${path}: not ${JSON.stringify(schema.const)}`
  switch (schema.type) {
    case undefined:
      return undefined
    case 'null':
      return value === null ? undefined : `${path}: not null`
    case 'string':
    case 'boolean':
      return typeof value === schema.type ? undefined : `${path}: no ${schema.type}`
    case 'number':
    case 'integer':
      return numberFault(schema, value, path)
    case 'array': {
      if (!Array.isArray(value)) return `${path}: no array`
      const faults = value.map((each, at) => misfit(schema.items ?? {}, each, root, `${path}[${at}]`))
      return faults.find((fault) => fault !== undefined)
    }
    case 'object':
      return objectFault(schema, value, root, path)
    default:
      return `${path}: a schema of the type ${schema.type}`
  }
}

function numberFault(
  { type, minimum, maximum }: JsonSchema,
  value: unknown,
  path: string,
): string | undefined {
  if (typeof value !== 'number' || (type === 'integer' && !Number.isInteger(value)))
    return `${path}: no ${type}`
  return value < (minimum ?? -Infinity) || value > (maximum ?? Infinity) ? `${path}: out of range` : undefined
}

function objectFault(schema: JsonSchema, value: unknown, root: unknown, path: string): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return `${path}: no object`
  const missing = schema.required?.find((name) => !Object.hasOwn(value, name))
  if (missing !== undefined) return `${path}.${missing}: missing`
  for (const [name, each] of Object.entries(value)) {
    const known = schema.properties?.[name]
    if (known === undefined && schema.additionalProperties === false) return `${path}.${name}: not known`
    const fault = known && misfit(known, each, root, `${path}.${name}`)
    if (fault !== undefined) return fault
  }
  return undefined
}

function resolved(ref: string, root: unknown): JsonSchema {
  let at = root as Record<string, unknown>
  for (const name of ref.slice(2).split('/')) at = at[name] as Record<string, unknown>
  return at
}

/** Values that match a schema. `byName` has more useful values for some field names. */
export function fitting(
  schema: JsonSchema,
  byName: Readonly<Record<string, fc.Arbitrary<unknown>>>,
): fc.Arbitrary<unknown> {
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((each) => fitting(each, byName)))
  if (schema.const !== undefined) return fc.constant(schema.const)
  switch (schema.type) {
    case 'string': {
      if (schema.pattern !== undefined) return fc.stringMatching(new RegExp(schema.pattern))
      return fc.string({ minLength: schema.minLength ?? 0, maxLength: Math.min(schema.maxLength ?? 20, 20) })
    }
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer({ min: schema.minimum ?? 0, max: Math.min(schema.maximum ?? 1000, 2 ** 31 - 1) })
    case 'number':
      return fc.double({ min: schema.minimum ?? 0, max: schema.maximum ?? 1e6, noNaN: true })
    case 'array':
      return fc.array(fitting(schema.items ?? {}, byName), { minLength: schema.minItems ?? 0, maxLength: 4 })
    case 'object': {
      const fields = Object.entries(schema.properties ?? {}).map(([name, each]) => {
        const better = byName[name]
        const plain = fitting(each, byName)
        const values = better && fc.oneof({ weight: 16, arbitrary: better }, { weight: 1, arbitrary: plain })
        return [name, values ?? plain] as const
      })
      return fc.record(Object.fromEntries(fields), { requiredKeys: [...(schema.required ?? [])] })
    }
    case undefined:
    default:
      return fc.jsonValue({ maxDepth: 3 })
  }
}
