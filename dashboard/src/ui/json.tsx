import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { ExactNumber, stringifyExactly } from '../api/exact-json.ts'
import { Button, CopyButton } from './basics.tsx'
import { count } from './format.ts'

/** How much of a list or object is shown at first, and after each request for more. */
const SHOWN = 50
/** Deeper parts begin folded, and so does everything that is large. */
const OPEN_DEPTH = 2
const OPEN_ITEMS = 20
const OPEN_LENGTH = 500

/** A JSON value as a tree. Large parts are folded, and are built only when they are opened. */
export function Json({ value, what }: { readonly value: unknown; readonly what: string }): JSX.Element {
  return (
    <div class="json">
      <div class="json-tree">
        <Node value={value} depth={0} />
      </div>
      <CopyButton text={stringifyExactly(value)} what={what} />
    </div>
  )
}

function Node({
  value,
  depth,
  name,
}: {
  readonly value: unknown
  readonly depth: number
  readonly name?: string
}): JSX.Element {
  const label = name === undefined ? null : <span class="json-name">{name}: </span>
  if (typeof value === 'object' && value !== null && !(value instanceof ExactNumber))
    return <Branch value={value} depth={depth} label={label} />
  return (
    <div class="json-leaf">
      {label}
      <Leaf value={value} />
    </div>
  )
}

function Branch({
  value,
  depth,
  label,
}: {
  readonly value: object
  readonly depth: number
  readonly label: JSX.Element | null
}): JSX.Element {
  const entries = Object.entries(value)
  const isArray = Array.isArray(value)
  const isOpen = useSignal(depth < OPEN_DEPTH && entries.length <= OPEN_ITEMS)
  const shown = useSignal(SHOWN)
  if (entries.length === 0)
    return (
      <div class="json-leaf">
        {label}
        <span class="json-punctuation">{isArray ? '[]' : '{}'}</span>
      </div>
    )
  return (
    <details open={isOpen.value} onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>
        {label}
        <span class="json-punctuation">
          {isArray ? `[ ${count(entries.length)} ]` : `{ ${count(entries.length)} }`}
        </span>
      </summary>
      {isOpen.value && (
        <div class="json-inner">
          {entries.slice(0, shown.value).map(([name, item]) => (
            <Node key={name} name={name} value={item} depth={depth + 1} />
          ))}
          {entries.length > shown.value && (
            <Button tone="quiet" onClick={() => void (shown.value += 10 * SHOWN)}>
              Show more of {count(entries.length - shown.value)}
            </Button>
          )}
        </div>
      )}
    </details>
  )
}

function Leaf({ value }: { readonly value: unknown }): JSX.Element {
  const isAll = useSignal(false)
  if (typeof value !== 'string')
    return (
      <span
        class={value === null ? 'json-null' : typeof value === 'boolean' ? 'json-boolean' : 'json-number'}
      >
        {String(value)}
      </span>
    )
  const text = JSON.stringify(value)
  if (text.length <= OPEN_LENGTH || isAll.value) return <span class="json-string">{text}</span>
  return (
    <>
      <span class="json-string">{text.slice(0, OPEN_LENGTH)}…</span>{' '}
      <Button tone="quiet" onClick={() => void (isAll.value = true)}>
        Show all {count(text.length)} characters
      </Button>
    </>
  )
}
