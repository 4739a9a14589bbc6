import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Page, Timer } from '../../api/types.ts'
import { changes } from '../../state/feed.ts'
import { isVisible, later } from '../../state/clock.ts'
import { api, noticeRefusal } from '../../state/session.ts'

const PAGE_ROWS = 50
/** How long one page may be searched for before the list shows what it has, with a banner. */
const SEARCH_MS = 1500
const RELOAD_MS = 3000

export interface TimerPages {
  readonly items: readonly Timer[]
  readonly error: unknown
  readonly isLoading: boolean
  /** The search took too long: there may be more. */
  readonly isCut: boolean
  readonly hasNext: boolean
  readonly hasPrevious: boolean
  readonly number: number
  readonly next: () => void
  readonly previous: () => void
  /** Continues a search that was cut. */
  readonly goOn: () => void
  readonly reload: () => void
}

interface State {
  readonly items: readonly Timer[]
  readonly cursor: string | undefined
  readonly error: unknown
  readonly isLoading: boolean
  readonly isCut: boolean
}

const start: State = { items: [], cursor: undefined, error: undefined, isLoading: true, isCut: false }

/**
 * The pages of a list by the server's cursor. The server ends a page after about 100 ms, so a rare match needs several;
 * they are asked for until the page is full, or until the time limit. Earlier pages keep their cursors.
 */
export function useTimerPages(conditions: Readonly<Record<string, string | number | boolean>>): TimerPages {
  const key = JSON.stringify(conditions)
  const cursors = useSignal<readonly (string | undefined)[]>([undefined])
  const state = useSignal<State>(start)
  const round = useSignal(0)
  const goesOn = useSignal(0)
  const shownKey = useSignal('')
  const current = api.value

  const at = shownKey.value === key ? cursors.value : [undefined]
  useEffect(() => {
    const controller = new AbortController()
    const isOther = shownKey.peek() !== key
    if (isOther) {
      shownKey.value = key
      cursors.value = [undefined]
      state.value = start
    } else {
      state.value = { ...state.peek(), isLoading: true }
    }
    const from = isOther ? undefined : at.at(-1)
    const { signal } = controller
    void (async () => {
      let cursor = from
      const items: Timer[] = []
      const began = performance.now()
      const limitMs = SEARCH_MS * (1 + goesOn.peek() * 4)
      try {
        do {
          const page: Page<Timer> = await current.get(
            '/v1/timers',
            { ...conditions, limit: PAGE_ROWS - items.length, cursor },
            signal,
          )
          items.push(...page.items)
          cursor = page.cursor
          const isFull = items.length >= PAGE_ROWS || cursor === undefined
          const isCut = !isFull && performance.now() - began > limitMs
          if (signal.aborted) return
          state.value = { items: [...items], cursor, error: undefined, isLoading: !isFull && !isCut, isCut }
          if (isCut) return
        } while (cursor !== undefined && items.length < PAGE_ROWS)
      } catch (error) {
        if (signal.aborted) return
        noticeRefusal(error)
        state.value = { ...state.peek(), error, isLoading: false }
      }
    })()
    return () => controller.abort()
  }, [key, current, round.value, goesOn.value, at.length])

  useLiveReload(() => void round.value++, state.value.isLoading, round.value)
  const { items, cursor, error, isLoading, isCut } = state.value
  return {
    items,
    error,
    isLoading,
    isCut,
    hasNext: cursor !== undefined && !isCut,
    hasPrevious: at.length > 1,
    number: at.length,
    next: () => (cursors.value = [...at, cursor]),
    previous: () => (cursors.value = at.slice(0, -1)),
    goOn: () => void goesOn.value++,
    reload: () => void round.value++,
  }
}

/** Loads the page again after something has changed, at most every few seconds. */
function useLiveReload(reload: () => void, isLoading: boolean, round: number): void {
  const seen = useSignal(changes.peek())
  const isBehind = changes.value !== seen.value
  useEffect(() => {
    if (!isBehind || isLoading || !isVisible.value) return
    return later(RELOAD_MS, () => {
      seen.value = changes.peek()
      reload()
    })
  }, [isBehind, isLoading, isVisible.value, round])
}
