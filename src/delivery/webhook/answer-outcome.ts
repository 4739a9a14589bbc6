import { type Duration, parseDuration } from '../../time/index.js'
import type { HttpAnswer } from './http-sender.js'

/** What a target's answer means for the timer. */
export type AnswerOutcome =
  | { readonly type: 'done' }
  | { readonly type: 'again'; readonly in: Duration }
  | { readonly type: 'end' }
  | { readonly type: 'retry'; readonly reason: string; readonly afterMs: number | undefined }
  | { readonly type: 'dead'; readonly reason: string; readonly isGone: boolean }

const retried: ReadonlySet<number> = new Set([408, 425, 429])
const isJson = /^application\/(?:[\w.-]+\+)?json\b/i
const MAX_REASON_LENGTH = 500
const MAX_RETRY_AFTER_MS = 7 * 86_400_000

/**
 * 2xx is done, or again or the end of the timer if its JSON says so. 408, 425, 429 and 5xx are retried, not before `Retry-After`. Other 4xx
 * become dead letters, and 410 also means that the target is gone for good. A redirect is a failure: it is not followed.
 */
export function outcomeOf(answer: HttpAnswer, now: number): AnswerOutcome {
  const { status } = answer
  if (status >= 200 && status < 300) return readAnswer(answer)
  if (status >= 500 || retried.has(status))
    return { type: 'retry', reason: `the target answered ${status}`, afterMs: retryAfterMs(answer, now) }
  if (status >= 300 && status < 400)
    return {
      type: 'retry',
      reason: `the target redirects (${status}), which is not followed`,
      afterMs: undefined,
    }
  return { type: 'dead', reason: `the target answered ${status}`, isGone: status === 410 }
}

/**
 * What a target's answer means for each firing of a batch. A 2xx answer may name some of them in `items`, by their ids,
 * each with `again`, `end`, `retry` or `dead`. The others are done. Any other answer holds for all of them.
 */
export function outcomesOf(answer: HttpAnswer, now: number, ids: readonly string[]): AnswerOutcome[] {
  const all = outcomeOf(answer, now)
  const named = all.type === 'done' ? itemsOf(answer) : []
  if (named.length === 0) return ids.map(() => all)
  const byId = new Map(named.map((item) => [item.id, item] as const))
  return ids.map((id) => {
    const item = byId.get(id)
    return item === undefined ? all : itemOutcome(item)
  })
}

type NamedItem = Readonly<Record<string, unknown>> & { readonly id: string }

function itemsOf({ body, contentType }: HttpAnswer): readonly NamedItem[] {
  if (body === undefined || !isJson.test(contentType)) return []
  try {
    const answer: unknown = JSON.parse(body)
    if (typeof answer !== 'object' || answer === null || !('items' in answer)) return []
    return Array.isArray(answer.items) ? (answer.items as unknown[]).filter(isNamed) : []
  } catch {
    return []
  }
}

function isNamed(item: unknown): item is NamedItem {
  return typeof item === 'object' && item !== null && 'id' in item && typeof item.id === 'string'
}

function itemOutcome(item: NamedItem): AnswerOutcome {
  const reason =
    typeof item['reason'] === 'string' ? item['reason'].slice(0, MAX_REASON_LENGTH) : 'no reason given'
  if (item['dead'] === true)
    return { type: 'dead', reason: `the target gave it up: ${reason}`, isGone: false }
  if (item['end'] === true) return { type: 'end' }
  const again = durationIn(item['again'])
  if (again !== undefined) return { type: 'again', in: again }
  const retry = durationIn(item['retry'])
  return {
    type: 'retry',
    reason: `the target wants it again: ${reason}`,
    afterMs: retry === undefined ? undefined : Math.min(parseDuration(retry), MAX_RETRY_AFTER_MS),
  }
}

/** The duration of `{ in }`; undefined if there is none, or it cannot be parsed. */
function durationIn(when: unknown): Duration | undefined {
  if (typeof when !== 'object' || when === null || !('in' in when)) return undefined
  try {
    parseDuration(when.in as Duration)
    return when.in as Duration
  } catch {
    return undefined
  }
}

function readAnswer({ body, contentType }: HttpAnswer): AnswerOutcome {
  if (body === undefined || body === '' || !isJson.test(contentType)) return { type: 'done' }
  const { again, isEnd } = followUpIn(body)
  if (isEnd) return { type: 'end' }
  if (again === undefined) return { type: 'done' }
  try {
    parseDuration(again as Duration)
    return { type: 'again', in: again as Duration }
  } catch {
    return {
      type: 'retry',
      reason: 'the target asks for again at a time that cannot be read',
      afterMs: undefined,
    }
  }
}

/** What the body asks for: that the timer ends, or `again`. `null` stands for an `again` without a time. */
function followUpIn(body: string): { readonly again?: unknown; readonly isEnd: boolean } {
  try {
    const answer: unknown = JSON.parse(body)
    if (typeof answer !== 'object' || answer === null) return { isEnd: false }
    const { again, end } = answer as { readonly again?: unknown; readonly end?: unknown }
    if (end === true) return { isEnd: true }
    if (again === undefined) return { isEnd: false }
    return {
      isEnd: false,
      again: typeof again === 'object' && again !== null && 'in' in again ? again.in : null,
    }
  } catch {
    return { isEnd: false }
  }
}

/** `Retry-After` is a number of seconds or an HTTP date. */
function retryAfterMs({ retryAfter }: HttpAnswer, now: number): number | undefined {
  if (retryAfter === undefined) return undefined
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - now
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), MAX_RETRY_AFTER_MS)
}
