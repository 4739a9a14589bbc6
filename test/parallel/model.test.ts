import { describe, expect, it } from 'vitest'
import { next, ownerOf, recordState, stateOf, wordOf } from '../../src/parallel/memory/record-word.js'
import { recordLayout, type TimerRecords } from '../../src/parallel/memory/timer-records.js'
import { checkEveryInterleaving, type Program, type Scene } from './model-check.js'

const { SCHEDULED, MOVING } = recordState
const NOW = 10
const [A, B, C] = [1, 2, 3]

/** The only record of most scenes, and the first timer in it. */
const INDEX = 0
const FIRST_USE = 1

/** The owner finds the entry of its wheel due: it starts the task, or frees a record that was cancelled. */
const poll =
  (owner: number, name = 'first'): Program =>
  (records, note) => {
    if (records.begin(INDEX, owner, NOW)) {
      note(`${name} fired`)
      records.end(INDEX)
    } else if (records.remove(INDEX, owner)) note(`${name} removed`)
  }

const cancel =
  (use = FIRST_USE, name = 'first'): Program =>
  (records, note) => {
    if (records.cancel(INDEX, use) >= 0) note(`${name} cancelled`)
  }

/** Moves the timer to this thread. Its wheel has an entry from then on. */
const moveHere =
  (owner: number): Program =>
  (records, note) => {
    const moved = records.move(INDEX, FIRST_USE, owner, NOW)
    if (moved === 'cancelled' && records.remove(INDEX, owner)) note('first removed')
    if (moved === 'done') note('first moved')
  }

/** The same, and the thread finds it due at once. */
const moveHereAndPoll =
  (owner: number): Program =>
  (records, note) => {
    moveHere(owner)(records, note)
    poll(owner)(records, note)
  }

const adopt =
  (word: number, owner: number): Program =>
  (records, note) => {
    const adopted = records.adopt(INDEX, word, owner)
    if (adopted === 'cancelled' && records.remove(INDEX, owner)) note('first removed')
    if (adopted === 'done') poll(owner)(records, note)
  }

const setUp = (records: TimerRecords): void => {
  records.assign(INDEX, A)
  records.schedule(INDEX, A, NOW)
}

/** What the record's word is after `setUp`. */
const SET = wordOf(SCHEDULED, A, 1)
/** The last owner died between the two steps of a move. */
const HALF_MOVED = next(SET, MOVING, A)

const setUpHalfMoved: Scene['setup'] = (records, memory) => {
  setUp(records)
  memory.store(recordLayout.WORD, HALF_MOVED)
}

const count = (notes: readonly string[], text: string): number => notes.filter((note) => note === text).length

/** Every owner looks at its entry once more, and then the timer has fired or was cancelled, once. */
function checkOnce(notes: readonly string[], records: TimerRecords): void {
  const all = [...notes]
  const word = records.word(INDEX)
  poll(ownerOf(word))(records, (text) => all.push(text))
  const [fired, cancelled] = [count(all, 'first fired'), count(all, 'first cancelled')]
  expect({ fired, cancelled, all: fired + cancelled }).toMatchObject({ all: 1 })
  expect([SCHEDULED, MOVING]).not.toContain(stateOf(records.word(INDEX)))
  // A record is freed exactly once.
  expect(count(all, 'first removed')).toBe(cancelled)
}

const scenes: Readonly<Record<string, Scene>> = {
  'the owner fires it while another thread cancels it': {
    setup: setUp,
    threads: [poll(A), cancel()],
    check: checkOnce,
  },
  'two threads cancel it while the owner fires it': {
    setup: setUp,
    threads: [poll(A), cancel(), cancel()],
    check: checkOnce,
  },
  'another thread moves it to itself while the owner fires it': {
    setup: setUp,
    threads: [poll(A), moveHereAndPoll(B)],
    check: checkOnce,
  },
  'one thread moves it to itself, and another cancels it, while the owner fires it': {
    setup: setUp,
    threads: [poll(A), moveHere(B), cancel()],
    check: checkOnce,
  },
  'two threads move it to themselves while the owner fires it': {
    setup: setUp,
    threads: [poll(A), moveHere(B), moveHere(C)],
    check: checkOnce,
  },
  'the owner moves it while one thread cancels it and another moves it to itself': {
    setup: setUp,
    threads: [moveHere(A), cancel(), moveHere(B)],
    check: checkOnce,
  },
  'two threads adopt it after its owner died, and a third cancels it': {
    setup: setUp,
    threads: [adopt(SET, B), adopt(SET, C), cancel()],
    check: checkOnce,
  },
  'two threads adopt it after its owner died while it moved it': {
    setup: setUpHalfMoved,
    threads: [adopt(HALF_MOVED, B), adopt(HALF_MOVED, C), cancel()],
    check: checkOnce,
  },
  'its record is used again while another thread cancels the first timer': {
    setup: setUp,
    threads: [fireAndReuse, cancel()],
    check: checkReused,
  },
  'its record is used again while another thread moves the first timer to itself': {
    setup: setUp,
    threads: [fireAndReuse, moveHere(B)],
    check: checkReused,
  },
  'its record is used again while two threads cancel either timer': {
    setup: setUp,
    threads: [fireAndReuse, cancel(), cancel(FIRST_USE + 1, 'second')],
    check: checkReused,
  },
}

describe('the record of a timer, in every interleaving of the steps of two and three threads', () => {
  it.each(Object.entries(scenes))('is fired or cancelled exactly once when %s', (_, scene) => {
    expect(checkEveryInterleaving(scene)).toBeGreaterThan(10)
  })

  it.each(Object.entries(scenes))('is found broken without an atomic compare-and-set when %s', (_, scene) => {
    expect(() => checkEveryInterleaving({ ...scene, breaksReplace: true })).toThrow('expected')
  })
})

/** The owner fires the first timer, and sets a second one in the same record, due later. */
function fireAndReuse(records: TimerRecords, note: (text: string) => void): void {
  if (records.begin(INDEX, A, NOW)) {
    note('first fired')
    records.end(INDEX)
  } else if (records.remove(INDEX, A)) note('first removed')
  else return
  records.schedule(INDEX, A, NOW)
  note('second set')
}

/** Each timer of the record has one end, and the second is untouched by calls that name the first. */
function checkReused(notes: readonly string[], records: TimerRecords): void {
  const all = [...notes]
  const isReused = all.includes('second set')
  const owner = ownerOf(records.word(INDEX))
  poll(owner, isReused ? 'second' : 'first')(records, (text) => all.push(text))
  expect(count(all, 'first fired') + count(all, 'first cancelled')).toBe(1)
  // The first timer was not moved if its record was free already.
  if (isReused) expect(all).not.toContain('first moved')
  if (isReused) expect(count(all, 'second fired') + count(all, 'second cancelled')).toBe(1)
}
