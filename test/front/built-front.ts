import { BroadcastChannel } from 'node:worker_threads'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type * as carillon from '../../src/index.js'

/** The built package: its threads run compiled files, so the tests use these, too. */
export async function builtFront(): Promise<typeof carillon> {
  const file = fileURLToPath(new URL('../../dist/index.js', import.meta.url))
  return (await import(pathToFileURL(file).href)) as typeof carillon
}

export const handlerModule = new URL('./handler-module.mjs', import.meta.url)

/** What the handlers in `handler-module.mjs` report. */
export interface Report {
  readonly began?: string
  readonly ended?: string
  readonly aborted?: string
  readonly code?: string
  readonly here?: number
  readonly attempt?: number
  readonly threadId?: number
  readonly isMainThread?: boolean
  readonly firing?: Record<string, unknown>
}

/** Collects the reports of the handlers. */
export class Reports {
  readonly all: Report[] = []
  readonly #channel = new BroadcastChannel('handler-module')

  constructor() {
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the types of Node.js have no other way
    this.#channel.onmessage = (event) => this.all.push((event as { data: Report }).data)
  }

  /** The attempts that began, and those that ended, as `key 1`, sorted. */
  of(what: 'began' | 'ended'): string[] {
    return this.all
      .filter((report) => report[what] !== undefined)
      .map((report) => `${report[what]} ${report.attempt}`)
      .toSorted()
  }

  /** The ids of the threads that answer. */
  async threads(): Promise<number[]> {
    const from = this.all.length
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no origin
    this.#channel.postMessage('who is there?')
    await new Promise((resolve) => setTimeout(resolve, 100))
    return this.all.slice(from).flatMap(({ here }) => here ?? [])
  }

  [Symbol.dispose](): void {
    this.#channel.close()
  }
}
