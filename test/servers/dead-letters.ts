import type { Store } from 'carillon/store'

/** Reads all dead letters of the default namespace, page by page. */
export async function* deadLetters(
  store: Store,
): AsyncGenerator<{ readonly key: string; readonly reason: string }> {
  let cursor: string | undefined
  do {
    const page = await store.deadLetters({ namespace: 'default', limit: 1000, cursor })
    for (const { row, reason } of page.items) yield { key: row.key, reason }
    cursor = page.cursor
  } while (cursor !== undefined)
}
