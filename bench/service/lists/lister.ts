import { Client } from 'undici'
import type { Served } from '../connection.js'
import { answerTasks } from '../other-process.js'
import type { Question } from './questions.js'

export interface ListTask extends Served {
  readonly questions: readonly Question[]
}

/** What one question got. */
export interface ListAnswer {
  readonly name: string
  /** How long each page took. */
  readonly pageMs: readonly number[]
  readonly items: number
  /** Whether the last page was the end of the list. */
  readonly isWhole: boolean
  /** How many timers the list looked at, in all its pages. */
  readonly looked: number
}

interface Page {
  readonly items?: readonly unknown[]
  readonly count?: number
  readonly cursor?: string
  readonly looked?: number
}

const PAGES = 5

/** Reads lists page by page, without a pause: an operator who turns pages quickly. */
async function listed({
  questions,
  url,
  token,
}: ListTask): Promise<{ readonly answers: readonly ListAnswer[] }> {
  const client = new Client(url, { headersTimeout: 120_000, bodyTimeout: 120_000 })
  const answers: ListAnswer[] = []
  for (const { name, query, path = '/v1/timers', namespace = 'default', pages = PAGES } of questions) {
    const pageMs: number[] = []
    let items = 0
    let looked = 0
    let cursor: string | undefined
    do {
      const from = performance.now()
      const { statusCode, body } = await client.request({
        method: 'GET',
        path: `${path}?${query}${cursor === undefined ? '' : `&cursor=${cursor}`}`,
        headers: { authorization: `Bearer ${token}`, 'carillon-namespace': namespace },
      })
      const page = (await body.json()) as Page
      pageMs.push(performance.now() - from)
      if (statusCode !== 200) throw new Error(`${name}: status ${statusCode}, ${JSON.stringify(page)}`)
      items += page.items?.length ?? page.count ?? 0
      looked = page.looked ?? looked
      cursor = page.cursor
    } while (cursor !== undefined && pageMs.length < pages)
    answers.push({ name, pageMs, items, isWhole: cursor === undefined, looked })
  }
  await client.close()
  return { answers }
}

answerTasks(listed)
