import { effect, signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { feedState } from './state/feed.ts'
import { dismiss, messages } from './state/messages.ts'
import { chooseZone, viewerZone, zoneChoice } from './state/preferences.ts'
import { go, href, namespaceInUrl, route } from './state/router.ts'
import { resume, session, signOut, spansNamespaces, who } from './state/session.ts'
import { Badge, Choice, Failure } from './ui/basics.tsx'
import { Questions } from './ui/dialog.tsx'
import { Icon } from './ui/icon.tsx'
import { useResource } from './state/resource.ts'
import type { NamespaceInfo } from './api/types.ts'
import { areas, viewOf } from './views/views.tsx'
import { SignIn } from './views/sign-in.tsx'

const isMenuOpen = signal(false)

/** The page: signed out, a form; signed in, the frame around the view that the URL names. */
export function App(): JSX.Element {
  useEffect(() => {
    if (route.peek().path[0] !== 'sign-in') void resume()
    else session.value = { state: 'out' }
  }, [])
  const { state } = session.value
  if (state === 'checking') return <div class="splash" role="status" aria-label="Loading" />
  if (state === 'failed')
    return (
      <main class="sign-in">
        <Failure error={session.value.error} what="page" retry={() => void resume()} />
      </main>
    )
  if (state === 'out') return <SignIn reason={session.value.reason} />
  return <Frame />
}

function Frame(): JSX.Element {
  const { path } = route.value
  const view = viewOf(path)
  useTitle(view.title)
  const jobs = useResource('jobs', (current, abort) => current.get('/v1/jobs', {}, abort))
  return (
    <div class="frame">
      <a class="skip" href={`#main`} onClick={skipToMain}>
        Skip to the content
      </a>
      <Top />
      <nav class={`side ${isMenuOpen.value ? 'open' : ''}`} id="menu" aria-label="Views">
        <a class="brand" href={href([])}>
          <span class="brand-mark" aria-hidden="true" />
          Carillon
        </a>
        {areas.map(({ title, views }) => (
          <div key={title}>
            <p class="side-title" id={`area-${title}`}>
              {title}
            </p>
            <ul aria-labelledby={`area-${title}`}>
              {views.map(({ name, title: text, icon, isShown }) =>
                (isShown !== undefined && !isShown()) || (name === 'jobs' && jobs.isMissing) ? null : (
                  <li key={name}>
                    <a
                      href={href([name])}
                      aria-current={view.name === name ? 'page' : undefined}
                      onClick={() => (isMenuOpen.value = false)}
                    >
                      <Icon name={icon} />
                      {text}
                    </a>
                  </li>
                ),
              )}
            </ul>
          </div>
        ))}
        <Foot />
      </nav>
      <main id="main" tabIndex={-1}>
        <view.View key={path.join('/')} path={path.slice(1)} />
      </main>
      <div class="messages" role="status" aria-live="polite">
        {messages.value.map(({ id, kind, text }) => (
          <div key={id} class={`message ${kind}`}>
            <Icon name={kind === 'done' ? 'done' : 'failed'} />
            <span>{text}</span>
            <button
              type="button"
              class="button quiet icon-only"
              aria-label="Close this message"
              onClick={() => dismiss(id)}
            >
              ×
            </button>
          </div>
        ))}
      </div>
      <Questions />
    </div>
  )
}

function Top(): JSX.Element {
  return (
    <header class="top">
      <button
        type="button"
        class="button quiet icon-only menu-button"
        aria-label="Views"
        aria-expanded={isMenuOpen.value}
        aria-controls="menu"
        onClick={() => (isMenuOpen.value = !isMenuOpen.value)}
      >
        <Icon name="menu" />
      </button>
      <a class="brand" href={href([])}>
        <span class="brand-mark" aria-hidden="true" />
        Carillon
      </a>
      <div class="top-end">
        <Live />
        {spansNamespaces.value && <NamespaceSelect />}
        {who.value?.key.scope === 'read' && <Badge icon="eye">Read-only</Badge>}
        {viewerZone !== 'UTC' && (
          <Choice
            label="Time zone of this page"
            value={zoneChoice.value}
            options={[
              ['local', viewerZone.split('/').at(-1)?.replaceAll('_', ' ') ?? 'Local'],
              ['UTC', 'UTC'],
            ]}
            choose={chooseZone}
          />
        )}
      </div>
    </header>
  )
}

function Live(): JSX.Element {
  const state = feedState.value
  const texts = { live: 'Live', connecting: 'Connecting…', off: 'Paused' } as const
  return (
    <span
      class={`live ${state}`}
      title={
        state === 'live'
          ? 'The page updates as things happen.'
          : 'The page loads again when the connection is back.'
      }
    >
      <span class="live-dot" aria-hidden="true" />
      <span class="live-text">{texts[state]}</span>
    </span>
  )
}

/** A key for all namespaces works in one at a time. */
function NamespaceSelect(): JSX.Element {
  const { data } = useResource('namespaces', (api, abort) =>
    api.get<{ namespaces: readonly NamespaceInfo[] }>('/v1/namespaces', {}, abort),
  )
  const current = namespaceInUrl.value ?? 'default'
  const names = [
    ...new Set(['default', current, ...(data?.namespaces ?? []).map(({ namespace }) => namespace)]),
  ]
  return (
    <label class="namespace">
      <span>Namespace</span>
      <select
        value={current}
        onChange={({ currentTarget: { value } }) =>
          go(['overview'], { ns: value === 'default' ? undefined : value })
        }
      >
        {names.toSorted().map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

function Foot(): JSX.Element {
  const { key, needsKey, server } = who.value!
  return (
    <div class="side-foot">
      <p>
        <strong>{key.name}</strong>
        <br />
        <span class="muted">
          {key.scope}
          {key.namespace === undefined ? ', all namespaces' : `, ${key.namespace}`}
        </span>
      </p>
      {needsKey && (
        <button type="button" class="button quiet" onClick={() => signOut()}>
          <Icon name="door" />
          Sign out
        </button>
      )}
      <p class="muted">
        Carillon {server.version} · <a href="docs">API</a>
      </p>
    </div>
  )
}

function skipToMain(event: MouseEvent): void {
  event.preventDefault()
  document.querySelector<HTMLElement>('#main')?.focus()
}

function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Carillon`
  }, [title])
}

// After a link was followed, screen readers and the keyboard continue at the new view's heading.
let lastPath: string | undefined
effect(() => {
  const path = route.value.path.join('/')
  const isFirst = lastPath === undefined
  if (path === lastPath) return
  lastPath = path
  if (isFirst) return
  requestAnimationFrame(() => {
    scrollTo(0, 0)
    document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true })
  })
})
