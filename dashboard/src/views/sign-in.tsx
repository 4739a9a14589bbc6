import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { messageOf } from '../api/calls.ts'
import { go, route } from '../state/router.ts'
import { signIn, signInWithCode } from '../state/session.ts'
import { Button, Notice } from '../ui/basics.tsx'
import { TextField } from '../ui/form.tsx'

/** Signs in with a key, or with the one-time code of a link. */
export function SignIn({ reason }: { readonly reason: string | undefined }): JSX.Element {
  const key = useSignal('')
  const error = useSignal<string | undefined>(undefined)
  const isWorking = useSignal(false)
  const attempt = async (enter: () => Promise<void>): Promise<void> => {
    isWorking.value = true
    error.value = undefined
    try {
      await enter()
    } catch (problem) {
      error.value = messageOf(problem)
    } finally {
      isWorking.value = false
    }
  }
  useEffect(() => {
    const { path, query } = route.peek()
    const code = path[0] === 'sign-in' ? query.get('code') : null
    if (code === null) return
    // The code must not stay in the browser's history, not even after it was used.
    history.replaceState(null, '', '#/')
    void attempt(async () => {
      await signInWithCode(code)
      go(['overview'])
    })
  }, [])
  return (
    <main class="sign-in">
      <div class="sign-in-card">
        <span class="brand-mark large" aria-hidden="true" />
        <h1>Carillon</h1>
        <p class="muted">See what is coming, and act on it.</p>
        {error.value === undefined && reason !== undefined && <Notice tone="warn">{reason}</Notice>}
        {error.value !== undefined && (
          <div role="alert">
            <Notice tone="bad">{error.value}</Notice>
          </div>
        )}
        <form
          onSubmit={(event) => {
            event.preventDefault()
            void attempt(() => signIn(key.value.trim()))
          }}
        >
          <TextField
            label="API key"
            type="password"
            placeholder="ck_…"
            required
            autofocus
            value={key.value}
            input={(value) => (key.value = value)}
            hint="It stays in this tab until you close it."
          />
          <Button type="submit" tone="main" disabled={isWorking.value}>
            {isWorking.value ? 'Signing in…' : 'Sign in'}
          </Button>
        </form>
        <p class="muted small">
          No key? The server printed the first one when it started. An administrator makes more with{' '}
          <code>carillon keys create</code>.
        </p>
      </div>
    </main>
  )
}
