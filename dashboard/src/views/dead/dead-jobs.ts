import type { Api } from '../../api/calls.ts'
import { codeOf } from '../../api/calls.ts'
import { composedUnless } from '../../api/composed.ts'
import type { DeadLetter, Job, Page } from '../../api/types.ts'
import type { Filter } from './dead-actions.tsx'

type Progress = (finished: number) => void

const PAGE = 500
/** How many dead letters one request sets again. */
const CHUNK = 100

/** Starts a job of the server. Undefined if the server has none: then the page works on by itself. */
export async function startJob(
  api: Api,
  action: 'redrive' | 'discard',
  filter: Filter,
  perSecond: string,
): Promise<Job | undefined> {
  try {
    return await api.send<Job>('POST', '/v1/jobs', {
      action,
      filter,
      ...(perSecond !== '' && { perSecond: Number(perSecond) }),
    })
  } catch (error) {
    if (codeOf(error) === 'route-unknown') return undefined
    throw error
  }
}

/** Redrives or discards every dead letter that matches, chunk by chunk. Returns their number. */
export async function workOn(
  api: Api,
  action: 'redrive' | 'discard',
  filter: Filter,
  perSecond: string,
  onProgress: Progress,
): Promise<number> {
  const ids = await idsOf(api, filter)
  const size = perSecond === '' ? CHUNK : Math.max(1, Math.min(CHUNK, Number(perSecond)))
  let finished = 0
  for (let from = 0; from < ids.length; from += size) {
    const chunk = ids.slice(from, from + size)
    if (action === 'redrive') await api.send('POST', '/v1/dead/redrive', { ids: chunk })
    else await Promise.all(chunk.map((id) => api.send('DELETE', '/v1/dead', undefined, { query: { id } })))
    finished += chunk.length
    onProgress(finished)
    if (perSecond !== '' && finished < ids.length) await new Promise((resolve) => setTimeout(resolve, 1000))
  }
  return finished
}

async function idsOf(api: Api, { kind, key, reason, diedFrom }: Filter): Promise<readonly string[]> {
  const isMeant = reason === undefined ? () => true : patternOf(reason)
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const page: Page<DeadLetter> = await api.get('/v1/dead', { kind, key, limit: PAGE, cursor })
    for (const letter of page.items)
      if (isMeant(letter.reason) && letter.diedAt >= (diedFrom ?? -Infinity)) ids.push(letter.id)
    cursor = page.cursor
  } while (cursor !== undefined)
  return ids
}

/** A page of the dead letters that match. Without a filter of the server, it may be short and have another after it. */
export async function lettersOf(
  api: Api,
  which: Filter,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Page<DeadLetter>> {
  const { reason, diedFrom = -Infinity, kind, key } = which
  const isMeant = reason === undefined ? () => true : patternOf(reason)
  return await composedUnless<Page<DeadLetter>>(
    'dead letters by reason',
    async () => await api.get('/v1/dead', { ...which, limit: 20, cursor }, signal),
    async () => {
      const page: Page<DeadLetter> = await api.get('/v1/dead', { kind, key, limit: 100, cursor }, signal)
      return {
        ...page,
        items: page.items.filter((letter) => isMeant(letter.reason) && letter.diedAt >= diedFrom),
      }
    },
    'invalid-body',
  )
}

/** A group's reason has `…` in place of numbers, ids and quoted values. */
function patternOf(reason: string): (text: string) => boolean {
  const parts = reason.split('…')
  return (text) => {
    if (parts.length === 1) return text === reason
    if (!text.startsWith(parts[0]!)) return false
    let at = parts[0]!.length
    for (const part of parts.slice(1, -1)) {
      const found = text.indexOf(part, at)
      if (found === -1) return false
      at = found + part.length
    }
    const last = parts.at(-1)!
    return text.length - last.length >= at && text.endsWith(last)
  }
}
