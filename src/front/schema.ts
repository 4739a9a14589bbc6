import { InvalidInputError } from '../error/index.js'

/** What any validator of the Standard Schema family offers (zod, valibot, arktype, …). */
export interface StandardSchema<Output> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}

type SchemaResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] }

interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The value as the schema gives it back; refuses one that the schema refuses. */
export async function validated<Output>(
  kind: string,
  schema: StandardSchema<Output>,
  value: unknown,
): Promise<Output> {
  const result = await schema['~standard'].validate(value)
  if (result.issues === undefined) return result.value
  const said = result.issues.map((issue) => `${pathOf(issue)}${issue.message}`).join('; ')
  throw new InvalidInputError(
    'payload-refused',
    `the payload of a ${kind} was refused by its schema: ${said}`,
  )
}

function pathOf({ path = [] }: SchemaIssue): string {
  const keys = path.map((part) => String(typeof part === 'object' ? part.key : part))
  return keys.length === 0 ? '' : `${keys.join('.')}: `
}
