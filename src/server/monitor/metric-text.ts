/** The value of a label, quoted and escaped. */
export function labelOf(value: string): string {
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`
}

/** One value without labels. */
export function* metric(
  name: string,
  type: 'gauge' | 'counter',
  help: string,
  value: number,
): Generator<string> {
  yield* metricOf(name, type, help, [['', value]])
}

/** Values with labels, such as `kind="a"`. */
export function* metricOf(
  name: string,
  type: 'gauge' | 'counter',
  help: string,
  values: Iterable<readonly [labels: string, value: number]>,
): Generator<string> {
  yield `# HELP ${name} ${help}`
  yield `# TYPE ${name} ${type}`
  for (const [labels, value] of values)
    yield labels === '' ? `${name} ${value}` : `${name}{${labels}} ${value}`
}
