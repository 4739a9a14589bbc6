import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { codeOf, messageOf } from '../api/calls.ts'
import { now } from '../state/clock.ts'
import { say } from '../state/messages.ts'
import { shownZone } from '../state/preferences.ts'
import type { Resource } from '../state/resource.ts'
import { instant, iso, relative, shortInstant } from './format.ts'
import { Icon, type IconName } from './icon.tsx'

type Children = { readonly children?: ComponentChildren }

/** The heading of a view, with its actions. */
export function Heading({
  title,
  note,
  children,
}: Children & { readonly title: ComponentChildren; readonly note?: ComponentChildren }): JSX.Element {
  return (
    <header class="heading">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        {note !== undefined && <p class="muted">{note}</p>}
      </div>
      {children !== undefined && <div class="actions">{children}</div>}
    </header>
  )
}

export function Card({
  title,
  note,
  actions,
  children,
  class: name = '',
}: Children & {
  readonly title?: ComponentChildren
  readonly note?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly class?: string
}): JSX.Element {
  return (
    <section class={`card ${name}`}>
      {title !== undefined && (
        <header class="card-head">
          <div>
            <h2>{title}</h2>
            {note !== undefined && <p class="muted">{note}</p>}
          </div>
          {actions !== undefined && <div class="actions">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  )
}

export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'info'

/** A state: its icon and its word say the same as its colour. */
export function Badge({
  tone = 'plain',
  icon,
  title,
  children,
}: Children & { readonly tone?: Tone; readonly icon?: IconName; readonly title?: string }): JSX.Element {
  return (
    <span class={`badge ${tone}`} title={title}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </span>
  )
}

export function Button({
  icon,
  tone = 'plain',
  children,
  ...rest
}: Omit<JSX.IntrinsicElements['button'], 'icon'> & {
  readonly icon?: IconName
  readonly tone?: 'plain' | 'main' | 'bad' | 'quiet'
}): JSX.Element {
  return (
    <button
      type="button"
      {...rest}
      class={`button ${tone} ${typeof rest.class === 'string' ? rest.class : ''}`}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  )
}

/** An instant: how far away it is, and when that is. */
export function When({
  at,
  both = true,
}: {
  readonly at: number | undefined
  readonly both?: boolean
}): JSX.Element {
  if (at === undefined) return <span class="muted">–</span>
  return (
    <time class="when" dateTime={iso(at)} title={`${instant(at, shownZone())} · ${instant(at, 'UTC')}`}>
      <span>{relative(at, now.value)}</span>
      {both && <span class="muted">{shortInstant(at, shownZone(), now.value)}</span>}
    </time>
  )
}

/** Copies a text. Plain http has no clipboard API, so there an invisible field is copied from. */
export function CopyButton({ text, what }: { readonly text: string; readonly what: string }): JSX.Element {
  const copy = async (): Promise<void> => {
    say((await copyText(text)) ? `Copied ${what}.` : `Cannot copy ${what}: select it, and copy it by hand.`)
  }
  return (
    <button
      type="button"
      class="button quiet icon-only"
      aria-label={`Copy ${what}`}
      title={`Copy ${what}`}
      onClick={() => void copy()}
    >
      <Icon name="copy" />
    </button>
  )
}

async function copyText(text: string): Promise<boolean> {
  try {
    if (window.isSecureContext) {
      await navigator.clipboard.writeText(text)
      return true
    }
  } catch {
    // The browser may forbid it. Then try the old way.
  }
  const field = document.createElement('textarea')
  field.value = text
  field.className = 'offscreen'
  // Inside an open dialog, everything else is inert.
  ;(document.querySelector('dialog[open]') ?? document.body).append(field)
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  return isCopied
}

/** A text that tells what is wrong, with what to do. */
export function Notice({
  tone = 'info',
  children,
  actions,
}: Children & { readonly tone?: Tone; readonly actions?: ComponentChildren }): JSX.Element {
  const icons: Record<Tone, IconName> = {
    plain: 'info',
    info: 'info',
    good: 'done',
    warn: 'dead',
    bad: 'failed',
  }
  return (
    <div class={`notice ${tone}`}>
      <Icon name={icons[tone]} />
      <div class="notice-text">{children}</div>
      {actions !== undefined && <div class="actions">{actions}</div>}
    </div>
  )
}

/** The content of a resource. While it loads for the first time, its place is held; an error says what to do. */
export function Loaded<Data>({
  from,
  children,
  what,
}: {
  readonly from: Resource<Data>
  readonly what: string
  readonly children: (data: Data) => ComponentChildren
}): JSX.Element {
  const { data, error, isMissing } = from
  if (isMissing) return <Notice>This server has no {what}: it is older than this page.</Notice>
  if (data === undefined && error !== undefined)
    return <Failure error={error} what={what} retry={from.reload} />
  if (data === undefined) return <div class="skeleton" role="status" aria-label={`Loading ${what}`} />
  return (
    <>
      {error !== undefined && <Failure error={error} what={what} retry={from.reload} isStale />}
      {children(data)}
    </>
  )
}

export function Failure({
  error,
  what,
  retry,
  isStale = false,
}: {
  readonly error: unknown
  readonly what: string
  readonly retry?: (() => void) | undefined
  readonly isStale?: boolean
}): JSX.Element {
  const code = codeOf(error)
  return (
    <Notice
      tone="bad"
      actions={
        retry && (
          <Button onClick={retry} icon="retry">
            Try again
          </Button>
        )
      }
    >
      <p>
        {isStale ? `What you see of the ${what} is not current: ` : `Cannot load the ${what}: `}
        {messageOf(error)}
        {code !== undefined && <span class="muted"> ({code})</span>}
      </p>
    </Notice>
  )
}

export function Empty({ title, children }: Children & { readonly title: string }): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <div class="muted">{children}</div>}
    </div>
  )
}

/** Code to copy. */
export function Code({ text, what }: { readonly text: string; readonly what: string }): JSX.Element {
  return (
    <div class="code">
      <pre tabIndex={0}>{text}</pre>
      <CopyButton text={text} what={what} />
    </div>
  )
}

/** One of a few choices, as buttons. */
export function Choice<Value extends string>({
  label,
  value,
  options,
  choose,
}: {
  readonly label: string
  readonly value: Value
  readonly options: readonly (readonly [Value, string])[]
  readonly choose: (value: Value) => void
}): JSX.Element {
  return (
    <div class="choice" role="group" aria-label={label}>
      {options.map(([option, text]) => (
        <button type="button" key={option} aria-pressed={option === value} onClick={() => choose(option)}>
          {text}
        </button>
      ))}
    </div>
  )
}

/** A part that is shown when asked for. */
export function Folded({
  summary,
  children,
}: Children & { readonly summary: ComponentChildren }): JSX.Element {
  const isOpen = useSignal(false)
  return (
    <details class="folded" onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen.value && children}
    </details>
  )
}
