import { hash } from 'node:crypto'
import type { TSchema } from '@sinclair/typebox'
import { errorCodes } from '../error/index.js'
import type { Route } from './route.js'

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

/** What the page may do: show its own style, and nothing else. */
export const docsPolicy = `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** The routes as a page for people. It needs no script and asks nobody for anything. */
export function docsPage(routes: readonly Route[], version: string): string {
  const groups = [...new Set(routes.map(({ group }) => group))]
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Carillon ${escaped(version)}: HTTP API</title><style>${style}</style></head><body>
<h1>Carillon: HTTP API</h1>
<p>Version ${escaped(version)}. The same as a document for machines: <a href="/v1/openapi.json">OpenAPI 3.1</a>.
Every request but those to <code>/healthz</code>, <code>/readyz</code>, <code>/docs</code> and <code>/v1/openapi.json</code>
carries <code>Authorization: Bearer ck_…</code>. Keys that open several namespaces choose one by the header
<code>Carillon-Namespace</code>. Instants are epoch milliseconds.</p>
${groups.map((group) => sectionOf(group, routes)).join('\n')}
<h2 id="problems">Problems</h2>
<p>What is not done is answered with <code>application/problem+json</code>; its <code>code</code> is one of these.</p>
<table>${Object.entries(errorCodes)
    .map(([code, advice]) => `<tr id="${code}"><td><code>${code}</code></td><td>${texted(advice)}</td></tr>`)
    .join('\n')}</table>
</body></html>
`
}

function sectionOf(group: string, routes: readonly Route[]): string {
  const of = routes.filter((route) => route.group === group)
  return `<h2>${escaped(group)}</h2>\n${of.map(detailsOf).join('\n')}`
}

function detailsOf(route: Route): string {
  const { method, path, summary, description, scope, params, query, headers = [], body, answer } = route
  const parts = [
    description === undefined ? '' : `<p>${texted(description)}</p>`,
    `<p>Scope: <code>${scope}</code></p>`,
    fieldsOf('In the path', params),
    fieldsOf('In the query', query),
    headers.length === 0 ? '' : `<p>Headers: ${headers.map((name) => `<code>${name}</code>`).join(', ')}</p>`,
    body === undefined ? '' : schemaOf('Body', body),
    schemaOf(`Answer, ${route.status ?? 200}`, answer),
  ]
  return `<details><summary><b>${method} ${escaped(path)}</b> ${texted(summary)}</summary>${parts.join('')}</details>`
}

function fieldsOf(title: string, schema: TSchema | undefined): string {
  const properties = Object.entries((schema?.['properties'] ?? {}) as Record<string, TSchema>)
  if (properties.length === 0) return ''
  const rows = properties.map(
    ([name, field]) =>
      `<tr><td><code>${escaped(name)}</code></td><td>${texted(field.description ?? '')}</td></tr>`,
  )
  return `<p>${title}:</p><table>${rows.join('')}</table>`
}

function schemaOf(title: string, schema: TSchema): string {
  return `<p>${escaped(title)}:</p><pre>${escaped(JSON.stringify(schema, undefined, 2))}</pre>`
}

/** Plain text in which backticks mark code. */
function texted(text: string): string {
  return escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}

function escaped(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;')
}
