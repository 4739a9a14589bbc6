import type { ComponentChildren, JSX } from 'preact'
import { useId } from 'preact/hooks'

interface FieldProps {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly error?: string | undefined
  readonly value: string
  readonly input: (value: string) => void
}

/** What a text field passes on to its input. */
export interface InputOptions {
  readonly type?: 'text' | 'search' | 'password' | 'url' | 'datetime-local'
  readonly inputMode?: 'numeric' | 'decimal'
  readonly maxLength?: number
  readonly list?: string
  readonly step?: number
  readonly placeholder?: string
  readonly required?: boolean
  readonly readOnly?: boolean
  readonly autofocus?: boolean
}

/** A text field with its label, a hint and what is wrong with it. */
export function TextField({
  label,
  hint,
  error,
  value,
  input,
  ...rest
}: FieldProps & InputOptions): JSX.Element {
  const id = useId()
  return (
    <Field id={id} label={label} hint={hint} error={error}>
      <input
        autocomplete="off"
        spellcheck={false}
        {...(rest as { type?: 'text' })}
        id={id}
        value={value}
        aria-invalid={error !== undefined}
        aria-describedby={describedBy(id, hint, error)}
        onInput={(event) => input(event.currentTarget.value)}
      />
    </Field>
  )
}

export function TextArea({
  label,
  hint,
  error,
  value,
  input,
  rows = 6,
}: FieldProps & { readonly rows?: number }): JSX.Element {
  const id = useId()
  return (
    <Field id={id} label={label} hint={hint} error={error}>
      <textarea
        id={id}
        rows={rows}
        spellcheck={false}
        value={value}
        aria-invalid={error !== undefined}
        aria-describedby={describedBy(id, hint, error)}
        onInput={(event) => input(event.currentTarget.value)}
      />
    </Field>
  )
}

export function Select<Value extends string>({
  label,
  value,
  options,
  choose,
  hint,
}: {
  readonly label: string
  readonly value: Value
  readonly options: readonly (readonly [Value, string])[]
  readonly choose: (value: Value) => void
  readonly hint?: ComponentChildren
}): JSX.Element {
  const id = useId()
  return (
    <Field id={id} label={label} hint={hint} error={undefined}>
      <select id={id} value={value} onChange={(event) => choose(event.currentTarget.value as Value)}>
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  )
}

export function Checkbox({
  label,
  isChecked,
  check,
}: {
  readonly label: string
  readonly isChecked: boolean
  readonly check: (isChecked: boolean) => void
}): JSX.Element {
  return (
    <label class="checkbox">
      <input type="checkbox" checked={isChecked} onChange={(event) => check(event.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  )
}

function Field({
  id,
  label,
  hint,
  error,
  children,
}: {
  readonly id: string
  readonly label: string
  readonly hint: ComponentChildren
  readonly error: string | undefined
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p class="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  )
}

function describedBy(id: string, hint: ComponentChildren, error: string | undefined): string | undefined {
  const ids = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean)
  return ids.length === 0 ? undefined : ids.join(' ')
}
