import { recordLayout, TimerRecords } from '../../src/parallel/memory/timer-records.js'
import type { RecordMemory } from '../../src/parallel/memory/shared-words.js'

/** What a thread does: calls on the records, and notes about what came of them. It must be deterministic. */
export type Program = (records: TimerRecords, note: (text: string) => void) => void

export interface Scene {
  /** Prepares the memory. No other thread runs meanwhile. */
  readonly setup: (records: TimerRecords, memory: RecordMemory) => void
  readonly threads: readonly Program[]
  /** Runs after all threads have ended. Throws if a promise is broken. */
  readonly check: (notes: readonly string[], records: TimerRecords) => void
  /** How many records the scene uses. */
  readonly records?: number
  /** Takes a compare-and-set apart into a load and a store: the fault that the check must find. */
  readonly breaksReplace?: boolean
}

/** A thread that has come to its next access of the memory. */
class Pause extends Error {}

type Memory = Float64Array

/**
 * Runs the real methods of `TimerRecords` in every interleaving of the threads of a scene. A step is one access to the
 * shared memory. A thread takes its next step by running its program again from the start: accesses that it has made
 * before answer what they answered then, and have no effect.
 *
 * Returns the number of different states that were visited.
 */
export function checkEveryInterleaving(scene: Scene): number {
  const seen = new Set<string>()
  const memory: Memory = new Float64Array((scene.records ?? 1) * recordLayout.WORDS)
  const prepared = plainMemory(memory)
  scene.setup(new TimerRecords(prepared), prepared)
  explore(
    memory,
    scene.threads.map(() => ({ answers: [], notes: [], isDone: false })),
  )
  return seen.size

  function explore(current: Memory, threads: readonly ThreadState[]): void {
    const key = JSON.stringify([[...current], threads.map(({ answers, isDone }) => [answers, isDone])])
    if (seen.has(key)) return
    seen.add(key)
    if (threads.every(({ isDone }) => isDone)) {
      scene.check(
        threads.flatMap(({ notes }) => notes),
        new TimerRecords(plainMemory(current.slice())),
      )
      return
    }
    threads.forEach((thread, number) => {
      if (thread.isDone) return
      const after = current.slice()
      const stepped = step(scene, scene.threads[number]!, thread, after)
      explore(
        after,
        threads.map((other, at) => (at === number ? stepped : other)),
      )
    })
  }
}

interface ThreadState {
  readonly answers: readonly number[]
  readonly notes: readonly string[]
  readonly isDone: boolean
}

/** Lets a thread make one more access to the memory, or end. */
function step(scene: Scene, program: Program, thread: ThreadState, memory: Memory): ThreadState {
  const answers = [...thread.answers]
  const notes: string[] = []
  let at = 0
  const access = (act: () => number): number => {
    if (at < thread.answers.length) return thread.answers[at++]!
    if (at > thread.answers.length) throw new Pause()
    at++
    answers.push(act())
    return answers.at(-1)!
  }
  const plain = plainMemory(memory)
  const stepped: RecordMemory = {
    load: (place) => access(() => plain.load(place)),
    store: (place, value) => void access(() => (plain.store(place, value), 0)),
    replace: (place, expected, value) => {
      if (!scene.breaksReplace) return access(() => Number(plain.replace(place, expected, value))) === 1
      if (access(() => plain.load(place)) !== expected) return false
      access(() => (plain.store(place, value), 0))
      return true
    },
    read: (place) => access(() => plain.read(place)),
    write: (place, value) => void access(() => (plain.write(place, value), 0)),
    readDouble: (place) => access(() => plain.readDouble(place)),
    writeDouble: (place, value) => void access(() => (plain.writeDouble(place, value), 0)),
  }
  try {
    program(new TimerRecords(stepped), (text) => notes.push(text))
    return { answers, notes, isDone: true }
  } catch (error) {
    if (!(error instanceof Pause)) throw error
    return { answers, notes, isDone: false }
  }
}

function plainMemory(memory: Memory): RecordMemory {
  const read = (at: number): number => memory[at]!
  const write = (at: number, value: number): void => {
    memory[at] = value
  }
  return {
    load: read,
    store: write,
    replace: (at, expected, value) => {
      if (memory[at] !== expected) return false
      memory[at] = value
      return true
    },
    read,
    write,
    readDouble: read,
    writeDouble: write,
  }
}
