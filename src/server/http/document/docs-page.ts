import { hash } from 'node:crypto'
import type { TSchema } from '@sinclair/typebox'
import { errorCodes } from '../../../error/index.js'
import { curlOf } from './examples.js'
import { DocumentSchemas } from './named-schemas.js'
import type { Route } from '../route.js'

const style = `
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem; color: #1d2430; background: #fff; }
h1, h2 { line-height: 1.2; } h2 { border-bottom: 1px solid #d5dae1; margin-top: 2.5rem; }
code, pre { font: 14px/1.5 ui-monospace, monospace; background: #f3f5f8; border-radius: 4px; }
code { padding: 0 .25em; } pre { padding: .75rem; overflow-x: auto; }
details { border: 1px solid #d5dae1; border-radius: 6px; margin: .5rem 0; padding: .4rem .75rem; }
summary { cursor: pointer; } summary b { font: 600 14px ui-monospace, monospace; }
table { border-collapse: collapse; width: 100%; } td { border-top: 1px solid #e6e9ee; padding: .25rem .75rem .25rem 0; vertical-align: top; }
@media (prefers-color-scheme: dark) {
  body { color: #e3e7ee; background: #14171c; } code, pre { background: #20252d; }
  h2, details, td { border-color: #343b46; } a { color: #8ab4ff; }
}`

const schemas = new DocumentSchemas()

/** The page's content security policy: its own style, and nothing else. */
export const docsPolicy = `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** The routes as an HTML page. It has no script and loads nothing from elsewhere. */
export function docsPage(routes: readonly Route[], version: string): string {
  const groups = [...new Set(routes.map(({ group }) => group))]
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Carillon ${escapeHtml(version)}: HTTP API</title><style>${style}</style></head><body>
<h1>Carillon: HTTP API</h1>
<p>Version ${escapeHtml(version)}. For programs: <a href="/v1/openapi.json">OpenAPI 3.1</a>.
Every request needs <code>Authorization: Bearer ck_…</code>, except to <code>/healthz</code>, <code>/readyz</code>,
<code>/docs</code> and <code>/v1/openapi.json</code>. A key for all namespaces selects one with the header
<code>Carillon-Namespace</code>. Instants are epoch milliseconds.</p>
<nav><h2 id="contents">Contents</h2>
${groups.map((group) => contentsOf(group, routes)).join('\n')}
<p><a href="#schemas">Schemas</a>, <a href="#problems">problems</a></p></nav>
${groups.map((group) => sectionOf(group, routes)).join('\n')}
<h2 id="schemas">Schemas</h2>
${Object.entries(schemas.components())
  .map(
    ([name, schema]) =>
      `<details id="schema-${name}"><summary><b>${name}</b></summary>${jsonOf(schema)}</details>`,
  )
  .join('\n')}
<h2 id="problems">Problems</h2>
<p>A request that fails is answered with <code>application/problem+json</code>. Its <code>code</code> is one of these.</p>
<table>${Object.entries(errorCodes)
    .map(
      ([code, advice]) =>
        `<tr id="${code}"><td><code>${code}</code></td><td>${withCodeMarkup(advice)}</td></tr>`,
    )
    .join('\n')}</table>
</body></html>
`
}

function sectionOf(group: string, routes: readonly Route[]): string {
  const of = routes.filter((route) => route.group === group)
  return `<h2 id="${idOf(group)}">${escapeHtml(group)}</h2>\n${of.map(detailsOf).join('\n')}`
}

function contentsOf(group: string, routes: readonly Route[]): string {
  const links = routes
    .filter((route) => route.group === group)
    .map(
      ({ method, path, summary }) =>
        `<li><a href="#${idOf(`${method} ${path}`)}"><code>${method} ${escapeHtml(path)}</code></a> ${withCodeMarkup(summary)}</li>`,
    )
  return `<h3><a href="#${idOf(group)}">${escapeHtml(group)}</a></h3><ul>${links.join('')}</ul>`
}

function idOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}

function detailsOf(route: Route): string {
  const { method, path, summary, description, scope, params, query, headers = [], body, answer } = route
  const parts = [
    description === undefined ? '' : `<p>${withCodeMarkup(description)}</p>`,
    `<p>Scope: <code>${scope}</code></p>`,
    fieldsOf('In the path', params),
    fieldsOf('In the query', query),
    headers.length === 0 ? '' : `<p>Headers: ${headers.map((name) => `<code>${name}</code>`).join(', ')}</p>`,
    body === undefined ? '' : schemaOf('Body', body),
    schemaOf(`Answer, ${route.status ?? 200}`, answer),
    `<p>Example:</p><pre>${escapeHtml(curlOf(method, path))}</pre>`,
  ]
  return `<details id="${idOf(`${method} ${path}`)}"><summary><b>${method} ${escapeHtml(path)}</b> ${withCodeMarkup(summary)}</summary>${parts.join('')}</details>`
}

function fieldsOf(title: string, schema: TSchema | undefined): string {
  const properties = Object.entries((schema?.['properties'] ?? {}) as Record<string, TSchema>)
  if (properties.length === 0) return ''
  const rows = properties.map(
    ([name, field]) =>
      `<tr><td><code>${escapeHtml(name)}</code></td><td>${withCodeMarkup(field.description ?? '')}</td></tr>`,
  )
  return `<p>${title}:</p><table>${rows.join('')}</table>`
}

function schemaOf(title: string, schema: TSchema): string {
  const { $ref, ...rest } = schemas.refer(schema)
  if (typeof $ref !== 'string') return `<p>${escapeHtml(title)}:</p>${jsonOf(rest)}`
  const name = $ref.split('/').at(-1)!
  return `<p>${escapeHtml(title)}: <a href="#schema-${name}">${name}</a></p>`
}

function jsonOf(value: unknown): string {
  return `<pre>${escapeHtml(JSON.stringify(value, undefined, 2))}</pre>`
}

/** Turns backticks in plain text into code elements. */
function withCodeMarkup(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}

function escapeHtml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;')
}
