import { describe, expect, it } from 'vitest'
import { Receiver } from './chaos/receiver.js'
import type { Line } from './chaos/report.js'

const DUE = 1_000_000
const epochMs = 500_000

function receiver(attempts = 3): Receiver {
  const checked = new Receiver({ storeTimeAt: (at) => at + epochMs, toleranceMs: 20, attempts })
  checked.take('0.1', { say: 'set', timers: [['k', DUE]] })
  checked.take('0.1', { say: 'acked', keys: ['k'] })
  return checked
}

/** A start of an attempt, `ms` after the due time by the store's clock. */
function fired(ms: number, attempt = 1, id = 'm'): Line {
  const at = DUE - epochMs + ms
  return { say: 'fired', firings: [{ key: 'k', id, attempt, dueAt: DUE, startedAt: at, at, shard: 3 }] }
}

function ended(ms: number, attempt = 1, isDone = true): Line {
  return { say: 'ended', attempts: [['k', attempt]], isDone, at: DUE - epochMs + ms }
}

function acquired(ms: number): Line {
  return { say: 'acquired', shard: 3, at: DUE - epochMs + ms }
}

function receiverAfter(lines: readonly (readonly [by: string, line: Line])[], attempts = 3): Receiver {
  const checked = receiver(attempts)
  for (const [by, line] of lines) checked.take(by, line)
  return checked
}

describe('the receiver of the trials on servers', () => {
  it('finds no fault if every promise is kept', () => {
    const checked = receiverAfter([
      ['0.1', fired(0)],
      ['0.1', ended(5, 1, false)],
      ['0.1', fired(10, 2)],
      ['0.1', ended(15, 2)],
    ])
    checked.finish()
    expect(checked.faults).toEqual([])
  })

  it.each<[string, readonly (readonly [string, Line])[]]>([
    ['lost', []],
    ['early', [['0.1', fired(-21)]]],
    [
      'same-attempt',
      [
        ['0.1', fired(0)],
        ['1.1', fired(5)],
      ],
    ],
    [
      'backwards',
      [
        ['0.1', acquired(1)],
        ['0.1', fired(10, 2)],
        ['1.1', fired(20, 1)],
      ],
    ],
    ['too-many-attempts', [['0.1', fired(0, 2)]]],
    [
      'at-once',
      [
        ['0.1', fired(0)],
        ['1.1', acquired(5)],
        ['1.1', fired(10, 2)],
        ['0.1', ended(20)],
      ],
    ],
    [
      'after-settlement',
      [
        ['0.1', fired(0)],
        ['0.1', ended(5)],
        ['0.1', { say: 'settled', keys: ['k'], at: DUE - epochMs + 6 }],
        ['1.1', fired(10, 2)],
      ],
    ],
    [
      'after-cancel',
      [
        ['1.1', { say: 'cancelled', key: 'k', at: DUE - epochMs - 1 }],
        ['0.1', fired(0)],
      ],
    ],
  ])('finds the fault %s, and prints the history of the timer', (check, lines) => {
    const checked = receiverAfter(lines)
    checked.finish()
    expect(checked.counts.get(check as 'lost')).toBeGreaterThan(0)
    expect(checked.faults.join('\n')).toContain('the set was acknowledged')
  })

  it('reports how long after its settlement an attempt started', () => {
    const checked = receiverAfter([
      ['0.1', fired(0)],
      ['0.1', ended(5)],
      ['0.1', { say: 'settled', keys: ['k'], at: DUE - epochMs + 6 }],
      ['1.1', fired(10, 2)],
    ])
    expect(checked.faults[0]).toContain(
      'attempt 2 started in 1.1 4.0 ms after its settlement was acknowledged',
    )
  })

  it('finds a dead letter of a timer that was done', () => {
    const checked = receiverAfter([
      ['0.1', fired(0)],
      ['0.1', ended(5)],
    ])
    checked.dead('k', 'no attempts left')
    checked.finish()
    expect([...checked.counts]).toEqual([['dead-though-done', 1]])
  })

  it('allows a second start while a process that lost the shard goes on, and one more attempt for each takeover', () => {
    const checked = receiverAfter([
      ['0.1', fired(0)],
      ['1.1', acquired(5)],
      ['1.1', fired(10, 2)],
      ['0.1', { say: 'event', type: 'lost', shard: 3, text: 'fenced', at: DUE - epochMs + 12 }],
      ['1.1', ended(15, 2)],
      ['0.1', ended(20)],
    ])
    checked.finish()
    expect(checked.faults).toEqual([])
    expect([...checked.repeatsByFault]).toEqual([['no fault', 1]])
  })
})
