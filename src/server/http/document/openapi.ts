import type { TObject, TSchema } from '@sinclair/typebox'
import { exampleBodies } from './examples.js'
import { DocumentSchemas } from './named-schemas.js'
import type { Route } from '../route.js'

/** The error statuses that any route may answer with. */
const ALWAYS = [400, 401, 403, 408, 413, 415, 429, 500, 503, 504, 507]

const headerTexts: Readonly<Record<string, string>> = Object.freeze({
  'if-match': 'A revision in quotes: only if the timer is at that revision. `*`: at any revision.',
  'if-none-match': '`*`: only if there is no such timer.',
  'idempotency-key': 'A repeated request with the same value gets the first answer and is not run again.',
  'carillon-namespace': 'The namespace, for keys that open all of them. Default `default`.',
})

const HEALTH = 'Health'

function healthOf(name: string, summary: string, answers: Readonly<Record<string, object>>): object {
  return {
    get: {
      operationId: `get-${name}`,
      tags: [HEALTH],
      summary,
      description: 'Needs no key.',
      security: [],
      parameters: [],
      responses: Object.fromEntries(
        Object.entries(answers).map(([status, properties]) => [
          status,
          {
            description: status === '200' ? 'Yes.' : 'No.',
            content: {
              'application/json': {
                schema: { type: 'object', properties, required: Object.keys(properties) },
              },
            },
          },
        ]),
      ),
    },
  }
}

const healthPaths = {
  '/healthz': healthOf('healthz', 'Whether the process is alive.', {
    200: { status: { type: 'string', const: 'alive' } },
  }),
  '/readyz': healthOf('readyz', 'Whether this instance fires timers and its store answers.', {
    200: { status: { type: 'string', const: 'ready' } },
    503: {
      status: { type: 'string', const: 'not ready' },
      faults: { type: 'array', items: { type: 'string' }, description: 'What is wrong.' },
    },
  }),
}

/** The OpenAPI 3.1 document of the routes, built from the schemas that check their requests. */
export function openApiOf(routes: readonly Route[], version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {}
  const schemas = new DocumentSchemas()
  for (const each of routes) {
    paths[each.path] ??= {}
    paths[each.path]![each.method.toLowerCase()] = operationOf(each, schemas)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Carillon',
      version,
      summary: 'Durable timers over HTTP.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{ key: [] }],
    tags: [...new Set([...routes.map(({ group }) => group), HEALTH])].map((name) => ({ name })),
    paths: { ...paths, ...healthPaths },
    components: {
      schemas: schemas.components(),
      securitySchemes: { key: { type: 'http', scheme: 'bearer', bearerFormat: 'ck_…' } },
    },
  }
}

function operationOf(route: Route, schemas: DocumentSchemas): Record<string, unknown> {
  const { method, path, summary, description, group, body, scope, answer, answerType, status = 200 } = route
  return {
    operationId: operationIdOf(route),
    tags: [group],
    summary,
    description: [description, `Needs the scope \`${scope}\`.`]
      .filter((text) => text !== undefined)
      .join(' '),
    parameters: parametersOf(route, schemas),
    ...(body !== undefined && {
      requestBody: {
        required: body['x-optional'] !== true,
        content: {
          'application/json': { schema: schemas.refer(body), example: exampleBodies[`${method} ${path}`] },
        },
      },
    }),
    responses: {
      [status]: {
        description: 'Done.',
        content: { [answerType ?? 'application/json']: { schema: schemas.refer(answer) } },
      },
      ...Object.fromEntries(refusalsOf(route).map((refusal) => [refusal, problemResponse])),
    },
  }
}

/** All error statuses of a route, in ascending order. */
function refusalsOf({ refusals = [] }: Route): number[] {
  return [...new Set([...ALWAYS, ...refusals])].toSorted((a, b) => a - b)
}

const problemResponse = {
  description: 'Not done; the code says why.',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
}

function operationIdOf({ method, path }: Route): string {
  const words = path
    .replace(/[{}]/g, '')
    .split('/')
    .filter((word) => word !== '' && word !== 'v1')
  return [method.toLowerCase(), ...words].join('-')
}

function parametersOf({ params, query, headers = [] }: Route, schemas: DocumentSchemas): unknown[] {
  const named = (where: 'path' | 'query', object: TObject | undefined): unknown[] =>
    Object.entries(object?.properties ?? {}).map(([name, schema]: [string, TSchema]) => ({
      name,
      in: where,
      required: where === 'path' || (object?.required ?? []).includes(name),
      description: schema.description,
      schema: schemas.refer(schema),
    }))
  return [
    ...named('path', params),
    ...named('query', query),
    ...[...headers, 'carillon-namespace'].map((name) => ({
      name,
      in: 'header',
      required: false,
      description: headerTexts[name],
      schema: { type: 'string' },
    })),
  ]
}
