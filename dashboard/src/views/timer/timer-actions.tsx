import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { timerPath } from '../../api/calls.ts'
import { runOnce } from '../../api/composed.ts'
import type { Timer } from '../../api/types.ts'
import { act } from '../../state/messages.ts'
import { href } from '../../state/router.ts'
import { api, can } from '../../state/session.ts'
import { Button, Notice } from '../../ui/basics.tsx'
import { ask } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/form.tsx'
import { WhenField, whenGiven, whenOf } from '../../ui/when-field.tsx'

type Named = Pick<Timer, 'kind' | 'key' | 'revision' | 'dueAt' | 'on' | 'state'>

/** The changes that a timer in its state can get. The server decides again. */
export function TimerActions({ timer }: { readonly timer: Named }): JSX.Element | null {
  if (!can('write')) return null
  const isLive = timer.state === 'waiting' || timer.state === 'paused'
  return (
    <>
      {isLive && timer.on === undefined && (
        <Button icon="play" onClick={() => askFire(timer)}>
          Fire now
        </Button>
      )}
      {timer.on !== undefined && timer.state !== 'settled' && (
        <Button icon="play" onClick={() => askRun(timer)}>
          Run once now
        </Button>
      )}
      {isLive && (
        <Button icon="move" onClick={() => askMove(timer)}>
          Move
        </Button>
      )}
      {timer.state === 'paused' ? (
        <Button
          icon="play"
          onClick={() => void act(`Resumed ${timer.key}.`, () => send(timer, 'POST', '/resume'))}
        >
          Resume
        </Button>
      ) : (
        isLive && (
          <Button icon="pause" onClick={() => askPause(timer)}>
            Pause
          </Button>
        )
      )}
      {timer.state !== 'settled' && (
        <a class="button plain" href={href(['set'], { kind: timer.kind, key: timer.key, from: 'edit' })}>
          Edit
        </a>
      )}
      <a class="button plain" href={href(['set'], { kind: timer.kind, key: timer.key, from: 'copy' })}>
        Duplicate
      </a>
      {timer.state !== 'settled' && (
        <Button icon="trash" tone="bad" onClick={() => askCancel(timer)}>
          Cancel
        </Button>
      )}
    </>
  )
}

function askFire(timer: Named): void {
  ask({
    title: `Fire ${timer.key} now?`,
    body: <p>Its attempt starts at once, as if it were due. It does not fire again at its old due time.</p>,
    action: 'Fire now',
    run: async () => {
      await send(timer, 'POST', '/fire')
      return `${timer.key} fires now.`
    },
  })
}

/** One extra firing beside the schedule, which stays as it is. */
export function askRun(timer: Pick<Timer, 'kind' | 'key'>): void {
  ask({
    title: `Run ${timer.key} once now?`,
    body: (
      <p>
        It fires once, at once, under a key beside it. The schedule is not touched: the next occurrence stays
        where it is.
      </p>
    ),
    action: 'Run once now',
    run: async () => {
      await runOnce(api.value, timer.kind, timer.key)
      return `${timer.key} runs once now.`
    },
  })
}

function askMove(timer: Named): void {
  const when = whenGiven('in', timer.dueAt)
  ask({
    title: `Move ${timer.key}`,
    body: (
      <>
        {timer.on !== undefined && (
          <Notice>Only the next occurrence moves. The ones after it follow the schedule.</Notice>
        )}
        <WhenField when={when} />
      </>
    ),
    action: 'Move',
    run: async () => {
      await send(timer, 'POST', '/move', whenOf(when))
      return `Moved ${timer.key}.`
    },
  })
}

function askPause(timer: Named): void {
  const note = signal('')
  ask({
    title: `Pause ${timer.key}?`,
    body: (
      <>
        <p>It keeps its due time, and does not fire until somebody resumes it.</p>
        <NoteField note={note} />
      </>
    ),
    action: 'Pause',
    run: async () => {
      await send(timer, 'POST', '/pause', noteBody(note.value))
      return `Paused ${timer.key}.`
    },
  })
}

function askCancel(timer: Named): void {
  ask({
    title: `Cancel ${timer.key}?`,
    body: (
      <p>
        {timer.on === undefined
          ? 'It never fires. This cannot be undone.'
          : 'It never fires, and its schedule ends. This cannot be undone.'}
      </p>
    ),
    action: 'Cancel the timer',
    isDangerous: true,
    run: async () => {
      const { outcome } = await send<{ outcome: string }>(timer, 'DELETE', '')
      return outcome === 'ending'
        ? `${timer.key} fires now: this attempt is its last one.`
        : `Cancelled ${timer.key}.`
    },
  })
}

export function NoteField({ note }: { readonly note: { value: string } }): JSX.Element {
  return (
    <TextField
      label="Note"
      value={note.value}
      input={(value) => (note.value = value)}
      maxLength={256}
      hint="Optional: why it is paused. Others see it."
    />
  )
}

export function noteBody(note: string): { readonly note?: string } {
  return note.trim() === '' ? {} : { note: note.trim() }
}

async function send<Answer>(
  { kind, key, revision }: Named,
  method: 'POST' | 'DELETE',
  action: string,
  body?: unknown,
): Promise<Answer> {
  // A pause has no condition. For the rest, a timer that somebody else has changed meanwhile stays as it is.
  const isConditional = action !== '/pause' && action !== '/resume'
  return await api.value.send<Answer>(method, timerPath(kind, key, action), body, {
    ...(isConditional && { headers: { 'if-match': `"${revision}"` } }),
  })
}
