import { randomUUID } from 'node:crypto'

/** The URL with an unused prefix: a separate store on a server that others use, too. */
export function withNewPrefix(url: string): `redis://${string}` {
  return `${url as `redis://${string}`}${url.includes('?') ? '&' : '?'}prefix=test-${randomUUID().slice(0, 13)}`
}

/** The prefix that `withNewPrefix` gave a URL. */
export function prefixOf(url: string): string {
  return url.slice(url.indexOf('prefix=') + 'prefix='.length)
}
