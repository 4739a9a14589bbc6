import { signal, useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { messageOf } from '../api/calls.ts'
import { noticeChange } from '../state/feed.ts'
import { say } from '../state/messages.ts'
import { noticeRefusal } from '../state/session.ts'
import { Button, Notice } from './basics.tsx'

/** A question before a change, with a form if the change needs one. */
export interface Question {
  readonly title: string
  readonly body: ComponentChildren
  /** The word on the button: what will be done. */
  readonly action: string
  readonly isDangerous?: boolean
  /** Does it. The answer, if it is a text, is shown afterwards. An error stays in the dialog. */
  readonly run: () => Promise<string | void>
}

const asked = signal<Question | undefined>(undefined)

export function ask(question: Question): void {
  asked.value = question
}

/** The one dialog of the page. The browser keeps the focus inside, closes it with Escape and gives the focus back. */
export function Questions(): JSX.Element | null {
  const question = asked.value
  return question === undefined ? null : <Dialog key={question.title} question={question} />
}

function Dialog({ question }: { readonly question: Question }): JSX.Element {
  const element = useRef<HTMLDialogElement>(null)
  const isRunning = useSignal(false)
  const error = useSignal<string | undefined>(undefined)
  useEffect(() => {
    const before = document.activeElement
    element.current?.showModal()
    return () => (before instanceof HTMLElement && before.isConnected ? before.focus() : undefined)
  }, [])
  const close = (): void => {
    if (asked.value === question) asked.value = undefined
  }
  const run = async (): Promise<void> => {
    isRunning.value = true
    error.value = undefined
    try {
      const text = await question.run()
      close()
      if (typeof text === 'string') say(text)
      noticeChange()
    } catch (problem) {
      noticeRefusal(problem)
      error.value = messageOf(problem)
    } finally {
      isRunning.value = false
    }
  }
  return (
    <dialog ref={element} class="dialog" aria-labelledby="dialog-title" onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (!isRunning.value) void run()
        }}
      >
        <h2 id="dialog-title">{question.title}</h2>
        <div class="dialog-body">{question.body}</div>
        {error.value !== undefined && (
          <div role="alert">
            <Notice tone="bad">{error.value}</Notice>
          </div>
        )}
        <div class="actions end">
          <Button onClick={close}>Keep as it is</Button>
          <Button
            type="submit"
            tone={question.isDangerous === true ? 'bad' : 'main'}
            disabled={isRunning.value}
          >
            {isRunning.value ? 'Working…' : question.action}
          </Button>
        </div>
      </form>
    </dialog>
  )
}
