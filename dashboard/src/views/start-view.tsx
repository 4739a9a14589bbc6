import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { base, timerPath } from '../api/calls.ts'
import { now } from '../state/clock.ts'
import { events } from '../state/feed.ts'
import { act } from '../state/messages.ts'
import { timerHref } from '../state/router.ts'
import { api, can, who } from '../state/session.ts'
import { Badge, Button, Card, Choice, Code, Heading, Notice } from '../ui/basics.tsx'
import { duration } from '../ui/format.ts'

/** How to set the first timer, from here, from a terminal and from a program; and a place to see it fire. */
export function StartView(): JSX.Element {
  const tool = useSignal<'curl' | 'typescript'>('curl')
  return (
    <>
      <Heading title="First steps" note="Set a timer, and see it fire." />
      <div class="columns">
        <Card title="1. Set it from here">
          <p>
            A timer of kind <code>hello</code>, due in three seconds. On a new store, <code>hello</code> goes
            to the log of the server.
          </p>
          <SetHello />
        </Card>
        <Card
          title="2. Set it from a program"
          actions={
            <Choice
              label="Language"
              value={tool.value}
              options={[
                ['curl', 'curl'],
                ['typescript', 'TypeScript'],
              ]}
              choose={(value) => (tool.value = value)}
            />
          }
        >
          <Code text={tool.value === 'curl' ? curlText() : typescriptText()} what="the example" />
          {who.value?.needsKey === true && (
            <p class="muted">
              Put your key into the variable <code>CARILLON_KEY</code> first.
            </p>
          )}
        </Card>
      </div>
      <Card title="3. See it fire">
        <Fired />
      </Card>
    </>
  )
}

function SetHello(): JSX.Element {
  const setAt = useSignal<number | undefined>(undefined)
  const set = async (): Promise<void> => {
    const path = timerPath('hello', 'world')
    const isSet = await act('Set hello/world, due in three seconds.', () =>
      api.value.send('PUT', path, { in: '3s', payload: 'it works' }),
    )
    if (isSet) setAt.value = Date.now()
  }
  const dueInMs = setAt.value === undefined ? undefined : setAt.value + 3000 - now.value
  return (
    <>
      <Button tone="main" icon="play" disabled={!can('write')} onClick={() => void set()}>
        Set hello/world
      </Button>
      {!can('write') && <p class="muted">This key only reads.</p>}
      {dueInMs !== undefined && (
        <p role="status">
          {dueInMs > 0 ? `Due in ${duration(Math.ceil(dueInMs / 1000) * 1000)}…` : 'It is due: look below.'}{' '}
          <a href={timerHref('hello', 'world')}>Its page</a>
        </p>
      )}
    </>
  )
}

/** The firings that the page has seen since it was opened. */
function Fired(): JSX.Element {
  const fired = events.value.filter(
    ({ type, kind }) => kind !== undefined && (type === 'fired' || type === 'done'),
  )
  if (fired.length === 0) return <p class="muted">Firings appear here as they happen.</p>
  return (
    <>
      <Notice tone="good">
        <p>
          <strong>
            {fired[0]!.kind}/{fired[0]!.key} fired
          </strong>
          {fired[0]!.latenessMs !== undefined && `, ${duration(fired[0]!.latenessMs)} after it was due`}.
        </p>
      </Notice>
      <ul class="event-list">
        {fired.slice(0, 8).map((event) => (
          <li key={event.number}>
            <Badge tone="good" icon="done">
              {event.type}
            </Badge>
            <a class="name" href={timerHref(event.kind ?? '', event.key ?? '')}>
              {event.kind}/{event.key}
            </a>
          </li>
        ))}
      </ul>
    </>
  )
}

function curlText(): string {
  const needsKey = who.value?.needsKey === true
  return [
    `curl -X PUT ${new URL('v1/timers/hello/world', base).href} \\`,
    ...(needsKey ? [`  -H "Authorization: Bearer $CARILLON_KEY" \\`] : []),
    `  -H "Content-Type: application/json" \\`,
    `  -d '{"in":"3s","payload":"it works"}'`,
  ].join('\n')
}

function typescriptText(): string {
  const needsKey = who.value?.needsKey === true
  return [
    `import { Client } from 'carillon/client'`,
    ``,
    needsKey
      ? `const client = new Client('${base.href}', { apiKey: process.env.CARILLON_KEY })`
      : `const client = new Client('${base.href}')`,
    `await client.set('hello', 'world', { in: '3s', payload: 'it works' })`,
  ].join('\n')
}
