import { computed, signal } from '@preact/signals'

/** Where the page is: its path and its filters are in the URL's fragment, so every view is a link that can be shared. */
export interface Route {
  /** The parts of the path, decoded: `['timer', 'mail', 'order:7']`. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
}

export type QueryGiven = Readonly<Record<string, string | number | boolean | undefined>>

const fragment = signal(location.hash)
addEventListener('hashchange', () => (fragment.value = location.hash))

export const route = computed<Route>(() => routeOf(fragment.value))

/** The namespace in the URL. Undefined for that of the key. */
export const namespaceInUrl = computed(() => route.value.query.get('ns') ?? undefined)

/** The URL of a view. It keeps the namespace. */
export function href(path: readonly string[], query: QueryGiven = {}): string {
  const given = new URLSearchParams()
  const namespace = namespaceInUrl.value
  if (namespace !== undefined) given.set('ns', namespace)
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === '' || value === false) given.delete(name)
    else given.set(name, String(value))
  }
  const text = given.toString()
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`
}

export function go(path: readonly string[], query: QueryGiven = {}): void {
  location.hash = href(path, query)
}

/** Changes some of the view's filters. The history of the browser gets no entry for each letter that is typed. */
export function setQuery(change: QueryGiven): void {
  const { path, query } = route.value
  const replaced = href(path, { ...Object.fromEntries(query), ...change })
  history.replaceState(null, '', replaced)
  fragment.value = replaced
}

export function timerHref(kind: string, key: string): string {
  return href(['timer', kind, key])
}

function routeOf(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  const parts = path.split('/').filter((part) => part !== '')
  return { path: parts.map(decoded), query: new URLSearchParams(query) }
}

/** A link may be cut or mistyped. Then the part stays as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
