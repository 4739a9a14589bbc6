import { expect, it } from 'vitest'
import { Window } from '../../src/engine/load/window.js'
import type { TimerRow } from '../../src/timer/index.js'
import { START } from './rig.js'

function row(dueAt: number, revision: number): TimerRow {
  return {
    namespace: 'n',
    kind: 'k',
    key: String(revision),
    identity: revision,
    createdAt: START,
    payload: new Uint8Array(),
    tags: [],
    details: '',
    dueAt,
    attempt: 0,
    occurrence: 0,
    position: dueAt,
    revision,
  }
}

// An owner must have acquired its shard while the clock was ahead, so seeds hardly ever meet this (mutant 'rows that are
// due before the tick of the wheel wait for the clock to catch up').
it('asks to be looked at by the due time of a row that is due before the window began', () => {
  // The clock was an hour ahead, and is set right now.
  const window = new Window(START + 3_600_000)
  window.addRow(row(START + 1000, 1))
  expect(window.nextDue()).toBeLessThanOrEqual(START + 1000)
  const due: number[] = []
  window.advance(START + 1000, (token) => due.push(token))
  expect(due).toHaveLength(1)
})
