import { computed, signal } from '@preact/signals'
import { Api, codeOf } from '../api/calls.ts'
import type { Scope, WhoAmI } from '../api/types.ts'
import { namespaceInUrl } from './router.ts'

/** Who uses the page. The key lives in the tab's session storage: it ends with the tab, and no other site can read it. */
const KEY = 'carillon-key'

const scopes: readonly Scope[] = ['read', 'write', 'admin']

export type Session =
  | { readonly state: 'checking' }
  | { readonly state: 'out'; readonly reason?: string }
  | { readonly state: 'failed'; readonly error: unknown }
  | { readonly state: 'in'; readonly who: WhoAmI }

export const session = signal<Session>({ state: 'checking' })
const apiKey = signal(stored())

/** The API in the namespace that the URL names. A new namespace makes a new object, so that views load again. */
export const api = computed(() => new Api({ apiKey: apiKey.value, namespace: namespaceInUrl.value }))

export const who = computed(() => (session.value.state === 'in' ? session.value.who : undefined))

/** Whether the key may do what needs a scope. It only decides what is shown: the server checks every request. */
export function can(scope: Scope): boolean {
  const own = who.value?.key.scope
  return own !== undefined && scopes.indexOf(own) >= scopes.indexOf(scope)
}

/** Whether the key opens all namespaces. */
export const spansNamespaces = computed(
  () => who.value !== undefined && who.value.key.namespace === undefined,
)

/** Checks the key that the tab has, or that the server needs none. */
export async function resume(): Promise<void> {
  try {
    session.value = { state: 'in', who: await api.value.get<WhoAmI>('/v1/whoami') }
  } catch (error) {
    const code = codeOf(error)
    if (code !== 'unauthorized' && code !== 'forbidden') {
      session.value = { state: 'failed', error }
      return
    }
    const hadKey = apiKey.value !== undefined
    if (hadKey) forget()
    session.value = hadKey
      ? { state: 'out', reason: 'The key was revoked, has expired, or is not for this namespace.' }
      : { state: 'out' }
  }
}

/** Signs in with a key. Throws if the server does not know it. */
export async function signIn(key: string): Promise<void> {
  const caller = await new Api({ apiKey: key, namespace: namespaceInUrl.value }).get<WhoAmI>('/v1/whoami')
  sessionStorage.setItem(KEY, key)
  apiKey.value = key
  session.value = { state: 'in', who: caller }
}

/** Signs in with the one-time code of a link. */
export async function signInWithCode(code: string): Promise<void> {
  const anonymous = new Api({ apiKey: undefined, namespace: undefined })
  const { token } = await anonymous.send<{ readonly token: string }>('POST', '/v1/sign-in', { code })
  await signIn(token)
}

export function signOut(reason?: string): void {
  forget()
  session.value = reason === undefined ? { state: 'out' } : { state: 'out', reason }
}

/** Ends the session if an answer says that the key no longer counts. */
export function noticeRefusal(error: unknown): void {
  if (codeOf(error) === 'unauthorized' && session.value.state === 'in')
    signOut('The key was revoked or has expired.')
}

function forget(): void {
  sessionStorage.removeItem(KEY)
  apiKey.value = undefined
}

function stored(): string | undefined {
  return sessionStorage.getItem(KEY) ?? undefined
}
