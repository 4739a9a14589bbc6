import type { Timers } from 'carillon'
import type { Caller } from './caller.js'
import type { WebRow } from './web-line.js'

export interface ExerciseParts {
  readonly caller: Caller
  readonly timers: Timers
  readonly prefix: string
  readonly nextVersion: () => number
  readonly now: () => number
}

const FAR_MS = 86_400_000

/** Every call once, on timers of its own. Every answer is known. Returns what was answered otherwise. */
export async function exercise({
  caller,
  timers,
  prefix,
  nextVersion,
  now,
}: ExerciseParts): Promise<{ readonly calls: number; readonly failed: readonly string[] }> {
  const failed: string[] = []
  let calls = 0
  const expect = (what: string, got: unknown, wanted: unknown): void => {
    calls++
    if (got !== wanted) failed.push(`${what} was answered ${String(got)}, wanted ${String(wanted)}`)
  }
  const row = (key: string): WebRow => ({
    key: prefix + key,
    version: nextVersion(),
    dueAt: Math.floor(now() + FAR_MS),
  })
  const [a, b] = [row('a'), row('b')]
  const all = [a.key, b.key]
  const from = now()
  expect('a set', (await caller.set('set', [a])).join(' '), 'set')
  expect('a set of a taken key', (await caller.set('replace', [row('a')])).join(' '), 'set')
  const isTaken = await caller.set('set-if-absent', [row('a')], { ifAbsent: true })
  expect('a set of a taken key, if absent', isTaken.join(' '), 'conflict')
  const isFree = await caller.set('set-if-absent', [b], { ifAbsent: true })
  expect('a set of a free key, if absent', isFree.join(' '), 'set')
  const ifRevision = await caller.get([a.key])
  if (ifRevision === undefined) failed.push('get found nothing')
  else {
    const isRight = await caller.set('set-if-revision', [row('a')], { ifRevision })
    expect('a set if the revision is right', isRight.join(' '), 'set')
    const isWrong = await caller.set('set-if-wrong-revision', [row('a')], { ifRevision })
    expect('a set if the revision is wrong', isWrong.join(' '), 'conflict')
  }
  expect('a move', await caller.move({ ...b, dueAt: b.dueAt + 1000 }), 'moved')
  await caller.list(prefix, all)
  expect('a cancel', await caller.cancel(b), 'cancelled')
  expect('a second cancel', await caller.cancel(b), 'unknown')
  await caller.get(all)
  const within = { namespace: 'default', least: 1, most: Number.MAX_SAFE_INTEGER }
  const due = { kind: 'web', from: Math.floor(from), over: '3d', slice: '1d' } as const
  const forecast = await caller.count({ how: 'forecast', ...within }, async () =>
    (await timers.forecast(due)).reduce((sum, { count }) => sum + count, 0),
  )
  expect('a forecast', (forecast ?? 0) > 0, true)
  const pending = await caller.count({ how: 'stats', ...within }, async () => (await timers.stats()).pending)
  expect('the statistics', (pending ?? 0) > 0, true)
  expect('a cancel by prefix', await caller.cancelMany(prefix, [a, b]), 'many')
  await caller.get(all)
  return { calls, failed }
}
