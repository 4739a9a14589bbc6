// The handler that the tests of handlers on threads load. It imports one file of the package, so that threads start fast. The payload says what to do.
import process from 'node:process'
import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads'
import { Dead, RetryAfter } from '../../dist/delivery/dead.js'

const reports = new BroadcastChannel('handler-module')
reports.unref()
reports.addEventListener('message', ({ data }) => {
  if (data === 'who is there?') report({ here: threadId })
})

export default async function handle(firing) {
  const { key, attempt, payload } = firing
  report({ began: key, attempt, threadId, isMainThread, firing: seen(firing) })
  await acts[payload.do]?.(firing)
  report({ ended: key, attempt })
}

const acts = {
  again: (firing) => {
    if (firing.occurrence === 0) firing.again({ in: '20ms' })
  },
  end: (firing) => firing.end(),
  dead: () => {
    throw new Dead('it cannot be done')
  },
  retryAfter: ({ attempt }) => {
    if (attempt === 1) throw new RetryAfter('30ms', 'not yet')
  },
  fail: ({ attempt }) => {
    const cause = new Error('the reason behind it')
    if (attempt === 1) throw Object.assign(new TypeError('it failed', { cause }), { code: 'EX' })
  },
  throwText: ({ attempt }) => {
    if (attempt === 1) throw 'only a text'
  },
  exit: ({ attempt }) => {
    if (attempt === 1) process.exit(3)
  },
  uncaught: async ({ attempt }) => {
    if (attempt > 1) return
    setTimeout(() => {
      throw new Error('nobody catches it')
    })
    await new Promise(() => {})
  },
  rejected: async ({ attempt }) => {
    if (attempt > 1) return
    void Promise.reject(new Error('nobody awaits it'))
    await new Promise(() => {})
  },
  /** Never yields, at the first attempt. */
  block: ({ attempt }) => {
    if (attempt === 1) for (;;);
  },
  /** Never yields, but not at once. */
  blockLater: async ({ attempt }) => {
    await new Promise((resolve) => setTimeout(resolve, 1))
    if (attempt === 1) for (;;);
  },
  hold: ({ attempt }) => (attempt > 1 ? undefined : new Promise(() => {})),
  /** Ends when its signal is aborted. */
  listen: (firing) =>
    firing.attempt > 1
      ? undefined
      : new Promise((resolve) => {
          firing.signal.addEventListener('abort', () => {
            report({ aborted: firing.key, code: firing.signal.reason.code })
            resolve()
          })
        }),
  compute: ({ payload }) => {
    const end = performance.now() + payload.ms
    while (performance.now() < end);
  },
}

function seen(firing) {
  const { id, kind, key, namespace, handle: token, payload, tags, dueAt, firedAt, lateness } = firing
  const { attempt, occurrence, traceparent } = firing
  return {
    id,
    kind,
    key,
    namespace,
    handle: token,
    payload,
    tags,
    dueAt,
    firedAt,
    lateness,
    attempt,
    occurrence,
    traceparent,
  }
}

function report(message) {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no origin
  reports.postMessage(message)
}
