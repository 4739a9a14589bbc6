import { signal } from '@preact/signals'

/** The current time for everything that shows how long ago or how soon. It moves once a second while the page is seen. */
export const now = signal(Date.now())

export const isVisible = signal(!document.hidden)

document.addEventListener('visibilitychange', () => {
  isVisible.value = !document.hidden
  if (isVisible.value) now.value = Date.now()
})

setInterval(() => {
  if (isVisible.value) now.value = Date.now()
}, 1000)

export function later(ms: number, run: () => void): () => void {
  const handle = setTimeout(run, ms)
  return () => clearTimeout(handle)
}
