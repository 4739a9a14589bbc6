import { expect, it } from 'vitest'
import { deadViewOf, timerViewOf } from '../../src/front/read/timer-view.js'
import { DeadBody, TimerBody } from '../../src/server/http/schema/schema.js'
import { encodePayload, type TimerRow } from '../../src/timer/index.js'

const row: TimerRow = {
  namespace: 'default',
  kind: 'remind',
  key: 'a',
  identity: 1,
  createdAt: 1,
  payload: encodePayload(1),
  tags: [],
  details: '',
  dueAt: 1,
  attempt: 0,
  occurrence: 0,
  position: 1,
  revision: 1,
}

// The server drops every field of an answer that its schema does not list. Only a finished timer has
// `settled`, only an overdue one has `causes`, and only one that cannot be read has `fault`.
it('the schema of a timer lists every field that the library answers for a timer', () => {
  expect(Object.keys(TimerBody.properties).toSorted()).toEqual(
    [...Object.keys(timerViewOf(row, false)), 'settled', 'pause', 'causes', 'fault'].toSorted(),
  )
})

it('the schema of a dead letter lists every field that the library answers for a dead letter', () => {
  const view = deadViewOf({ id: '0-1', row, diedAt: 1, reason: 'why' })
  expect(Object.keys(DeadBody.properties).toSorted()).toEqual(Object.keys(view).toSorted())
})
