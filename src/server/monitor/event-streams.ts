import { Readable } from 'node:stream'
import { LimitError } from '../../error/index.js'
import type { Clock, Wake } from '../../time/index.js'
import {
  EVENT_PING_MS,
  MAX_EVENT_BUFFER_LENGTH,
  MAX_EVENT_LISTENERS,
  MAX_EVENT_LISTENERS_PER_KEY,
} from '../defaults.js'

/** The key behind a stream. */
export interface StreamKey {
  readonly id: string
  /** False once the key is revoked or has expired. */
  readonly isActive: () => boolean
}

class Listener {
  readonly stream = new Readable({ read: () => undefined, encoding: 'utf8' })
  readonly key: StreamKey
  /** Undefined for a listener that gets the events of all namespaces and of the engine. */
  readonly namespace: string | undefined

  constructor(namespace: string | undefined, key: StreamKey) {
    this.namespace = namespace
    this.key = key
  }

  /** Disconnects a listener that cannot keep up, or whose key no longer counts. The former may connect again. */
  write(text: string): void {
    if (this.stream.readableLength > MAX_EVENT_BUFFER_LENGTH || !this.key.isActive()) this.stream.destroy()
    else this.stream.push(text)
  }
}

/**
 * Sends events to listeners over HTTP, as server-sent events. Events carry no payloads. A key has a part of the seats,
 * and a stream ends with its key. Proven by test/server/hostile-keys.test.ts.
 */
export class EventStreams {
  readonly #clock: Clock
  readonly #listeners = new Set<Listener>()
  #ping: Wake | undefined
  #isStopped = false
  #id = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get count(): number {
    return this.#listeners.size
  }

  /** A stream of the events of a namespace, or of all namespaces and the engine. */
  listen(namespace: string | undefined, key: StreamKey): Readable {
    const ofKey = [...this.#listeners].filter((each) => each.key.id === key.id).length
    if (ofKey >= MAX_EVENT_LISTENERS_PER_KEY)
      throw new LimitError(
        'too-many-listeners',
        `this key already listens to events with ${MAX_EVENT_LISTENERS_PER_KEY} clients`,
      )
    if (this.#listeners.size >= MAX_EVENT_LISTENERS)
      throw new LimitError('too-many-listeners', `${MAX_EVENT_LISTENERS} clients already listen to events`)
    const listener = new Listener(namespace, key)
    this.#listeners.add(listener)
    listener.stream.on('close', () => this.#listeners.delete(listener))
    listener.write(': listening\n\n')
    this.#schedulePing()
    return listener.stream
  }

  /** Sends an event of a namespace. */
  publish(type: string, namespace: string, data: object): void {
    if (this.#listeners.size > 0) this.#send(type, namespace, { namespace, ...data })
  }

  /** Sends an event of the engine, which only listeners to all namespaces get. */
  publishEngine(type: string, data: object): void {
    if (this.#listeners.size > 0) this.#send(type, undefined, data)
  }

  /** Ends the streams whose keys no longer count. */
  endInactive(): void {
    for (const { key, stream } of this.#listeners) if (!key.isActive()) stream.destroy()
  }

  stop(): void {
    this.#isStopped = true
    this.#ping?.cancel()
    for (const { stream } of this.#listeners) stream.push(null)
  }

  #send(type: string, namespace: string | undefined, data: object): void {
    const text = `id: ${++this.#id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`
    for (const listener of this.#listeners) {
      if (listener.namespace === undefined || listener.namespace === namespace) listener.write(text)
    }
  }

  /** Keeps proxies from closing a connection that seems idle. */
  #schedulePing(): void {
    this.#ping?.cancel()
    this.#ping = this.#clock.wakeAfter(
      EVENT_PING_MS,
      () => {
        for (const listener of this.#listeners) listener.write(': still here\n\n')
        if (!this.#isStopped && this.#listeners.size > 0) this.#schedulePing()
      },
      { keepAlive: false },
    )
  }
}
