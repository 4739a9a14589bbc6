import { Readable } from 'node:stream'
import { LimitError } from '../error/index.js'
import type { Clock, Wake } from '../time/index.js'

const MOST_LISTENERS = 100
const MOST_BUFFERED = 1_048_576
const PING_MS = 15_000

/** One listener's stream. */
class Listener {
  readonly stream = new Readable({ read: () => undefined, encoding: 'utf8' })
  /** Undefined for one that hears of all namespaces, and of the shards. */
  readonly namespace: string | undefined

  constructor(namespace: string | undefined) {
    this.namespace = namespace
  }

  /** Who cannot keep up is let go: it may come again. */
  write(text: string): void {
    if (this.stream.readableLength > MOST_BUFFERED) this.stream.destroy()
    else this.stream.push(text)
  }
}

/** Tells whoever listens over HTTP what happens, as server-sent events. Payloads are not told. */
export class Events {
  readonly #clock: Clock
  readonly #listeners = new Set<Listener>()
  #ping: Wake | undefined
  #isOver = false
  #id = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get count(): number {
    return this.#listeners.size
  }

  /** A stream of events: those of a namespace, or all with those of the engine. */
  listen(namespace: string | undefined): Readable {
    if (this.#listeners.size >= MOST_LISTENERS)
      throw new LimitError('too-many-listeners', `${MOST_LISTENERS} listen to events already`)
    const listener = new Listener(namespace)
    this.#listeners.add(listener)
    listener.stream.on('close', () => this.#listeners.delete(listener))
    listener.write(': listening\n\n')
    this.#pingLater()
    return listener.stream
  }

  /** Something happened in a namespace. */
  tell(type: string, namespace: string, facts: object): void {
    if (this.#listeners.size > 0) this.#send(type, namespace, { namespace, ...facts })
  }

  /** What the engine does concerns those who see everything. */
  engine(type: string, facts: object): void {
    if (this.#listeners.size > 0) this.#send(type, undefined, facts)
  }

  stop(): void {
    this.#isOver = true
    this.#ping?.cancel()
    for (const { stream } of this.#listeners) stream.push(null)
  }

  #send(type: string, namespace: string | undefined, facts: object): void {
    const text = `id: ${++this.#id}\nevent: ${type}\ndata: ${JSON.stringify(facts)}\n\n`
    for (const listener of this.#listeners) {
      if (listener.namespace === undefined || listener.namespace === namespace) listener.write(text)
    }
  }

  /** So that what lies between does not think the connection dead. */
  #pingLater(): void {
    this.#ping?.cancel()
    this.#ping = this.#clock.wakeAfter(
      PING_MS,
      () => {
        for (const listener of this.#listeners) listener.write(': still here\n\n')
        if (!this.#isOver && this.#listeners.size > 0) this.#pingLater()
      },
      { keepAlive: false },
    )
  }
}
