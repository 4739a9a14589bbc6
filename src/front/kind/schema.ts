import { InvalidInputError, shown } from '../../error/index.js'

/** A Standard Schema validator (zod, valibot, arktype, …). One with a transform returns another type than it takes. */
export interface StandardSchema<Output, Input = Output> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

type SchemaResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] }

interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The value as the schema returns it. Throws if the schema refuses it. */
export async function validated<Output>(
  kind: string,
  schema: StandardSchema<Output, unknown>,
  value: unknown,
): Promise<Output> {
  const result = await schema['~standard'].validate(value)
  if (result.issues === undefined) return result.value
  const issues = result.issues.map((issue) => `${pathOf(issue)}${issue.message}`).join('; ')
  throw new InvalidInputError('payload-refused', `invalid payload for kind ${shown(kind)}: ${issues}`)
}

/** Refuses what a schema has made of a payload if no thread can get it: a function in it, for example. */
export function checkCrosses(kind: string, value: unknown): void {
  try {
    structuredClone(value)
  } catch (error) {
    throw new InvalidInputError(
      'payload-cannot-cross',
      `the handler of kind ${shown(kind)} runs on a thread, and what the schema made of the payload cannot cross to it: ${(error as Error).message}`,
      { cause: error },
    )
  }
}

function pathOf({ path = [] }: SchemaIssue): string {
  const keys = path.map((part) => String(typeof part === 'object' ? part.key : part))
  return keys.length === 0 ? '' : `${keys.join('.')}: `
}
