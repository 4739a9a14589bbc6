import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { codeOf } from '../api/calls.ts'
import type { Api } from '../api/calls.ts'
import { isVisible, later } from './clock.ts'
import { changes } from './feed.ts'
import { api, noticeRefusal } from './session.ts'

/** What a view shows: what was loaded last, also while it is loaded again or when that fails. */
export interface Resource<Data> {
  readonly data: Data | undefined
  readonly error: unknown
  readonly isLoading: boolean
  /** The server has no such route: it is older than the page, or a proxy hides it. */
  readonly isMissing: boolean
  readonly reload: () => void
}

interface Options {
  /** Loads again this often while the page is seen. */
  readonly everyMs?: number
  /** Loads again when something changed on the server. */
  readonly live?: boolean
}

/** At most this often, however many events come. */
const LIVE_MS = 1500

/**
 * Loads data for a view, and again when `key` changes. A load that is no longer needed is aborted. A hidden page loads
 * nothing.
 */
export function useResource<Data>(
  key: string,
  load: ((api: Api, signal: AbortSignal) => Promise<Data>) | undefined,
  { everyMs, live = false }: Options = {},
): Resource<Data> {
  const state = useSignal<Omit<Resource<Data>, 'reload'>>(nothing)
  const shownKey = useRef<string | undefined>(undefined)
  const round = useSignal(0)
  const current = api.value
  const fullKey = `${current.identity.namespace ?? ''} ${key}`

  useEffect(() => {
    if (load === undefined) return
    const controller = new AbortController()
    const isOther = shownKey.current !== fullKey
    shownKey.current = fullKey
    state.value = { ...(isOther ? nothing : state.value), isLoading: true }
    const run = async (): Promise<void> => {
      try {
        const data = await load(current, controller.signal)
        if (!controller.signal.aborted)
          state.value = { data, error: undefined, isLoading: false, isMissing: false }
      } catch (error) {
        if (controller.signal.aborted) return
        noticeRefusal(error)
        const isMissing = codeOf(error) === 'route-unknown' || codeOf(error) === 'method-unknown'
        state.value = { ...state.value, error, isLoading: false, isMissing }
      }
    }
    void run()
    return () => controller.abort()
  }, [fullKey, current, round.value, load === undefined])

  useReloads(round, state, load === undefined ? undefined : everyMs, live)
  return { ...state.value, reload: () => void round.value++ }
}

/** Reloads by time and by events, only while the page is visible, and never while a load still runs. */
function useReloads(
  round: Signal<number>,
  state: Signal<{ readonly isLoading: boolean; readonly isMissing: boolean }>,
  everyMs: number | undefined,
  live: boolean,
): void {
  const { isLoading, isMissing } = state.value
  const seen = useRef(changes.value)
  const change = live ? changes.value : 0
  useEffect(() => {
    if (!isVisible.value || isLoading || isMissing) return
    const isChanged = live && change !== seen.current
    const waitMs = isChanged ? LIVE_MS : everyMs
    if (waitMs === undefined) return
    return later(waitMs, () => {
      seen.current = changes.value
      round.value++
    })
  }, [isVisible.value, isLoading, isMissing, round.value, everyMs, change !== seen.current])
}

const nothing = { data: undefined, error: undefined, isLoading: false, isMissing: false }
