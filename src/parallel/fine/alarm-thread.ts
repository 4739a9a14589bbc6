import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { threadArguments } from '../../async/index.js'
import { systemClock, type Wake } from '../../time/index.js'
import { alarmAt, alarmWords, NO_ALARM } from './alarm-words.js'

/** What the thread gets when it starts. */
export interface AlarmThreadStart {
  readonly words: Int32Array
  readonly port: MessagePort
}

/** What the fine clock counted. */
export interface FineClockStats {
  /** How many alarms the thread has sent. It wraps around at 2^31. */
  readonly alarms: number
  /** How late it was at most, in microseconds: a machine that is busy lets it wait. */
  readonly maxDelayMicros: number
}

/** A thread that has ended is replaced after this time. */
const RESTART_MS = 1000

/**
 * One alarm, and the thread that waits for it. Should the thread end, a timer of Node waits for the alarm until another
 * thread has started.
 */
export class AlarmThread {
  readonly #words = new Int32Array(new SharedArrayBuffer(alarmWords.WORDS * 4))
  readonly #onAlarm: () => void
  #worker: Worker | undefined
  #port: MessagePort | undefined
  #substitute: Wake | undefined
  #alarmAt = Infinity
  #keepsAlive = false
  #isStopped = false

  constructor(onAlarm: () => void) {
    this.#onAlarm = onAlarm
  }

  /** Starts the thread. Resolves once it runs. */
  async start(): Promise<void> {
    const { port1, port2 } = new MessageChannel()
    const start: AlarmThreadStart = { words: this.#words, port: port2 }
    const worker = new Worker(new URL('./alarm-entry.js', import.meta.url), {
      workerData: start,
      transferList: [port2],
      ...threadArguments(),
    })
    this.#worker = worker
    port1.on('message', () => this.#ring())
    port1.unref()
    worker.once('exit', () => this.#onExit(port1))
    await new Promise<void>((resolve, reject) => {
      worker.once('online', resolve)
      worker.once('error', reject)
    })
    // From now on only alarms keep the process alive.
    worker.unref()
    this.#port = port1
    this.keepAlive(this.#keepsAlive)
    this.#wait()
  }

  /** Sets the alarm in place of the last one. */
  set(dueAt: number): void {
    this.#alarmAt = dueAt
    this.#wait()
  }

  /** Whether the process is to stay alive for the alarm. */
  keepAlive(isWanted: boolean): void {
    this.#keepsAlive = isWanted
    if (isWanted) this.#port?.ref()
    else this.#port?.unref()
  }

  get stats(): FineClockStats {
    return {
      alarms: Atomics.load(this.#words, alarmWords.SENT),
      maxDelayMicros: Atomics.load(this.#words, alarmWords.MAX_DELAY),
    }
  }

  /** Ends the thread. From now on, timers of Node wait for alarms. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#worker?.terminate()
  }

  #onExit(port: MessagePort): void {
    this.#port = undefined
    port.close()
    this.#wait()
    if (!this.#isStopped) systemClock.wakeAfter(RESTART_MS, () => void this.#restart(), { keepAlive: false })
  }

  async #restart(): Promise<void> {
    if (this.#isStopped) return
    // If it cannot be started, it is tried again: its exit asks for that.
    await this.start().catch(() => undefined)
  }

  /** Lets the thread wait for the alarm, or a timer of Node, if there is no thread. */
  #wait(): void {
    this.#substitute?.cancel()
    this.#substitute = undefined
    if (this.#alarmAt === Infinity) return
    if (this.#port === undefined) {
      this.#substitute = systemClock.wakeAt(this.#alarmAt, () => this.#ring(), {
        keepAlive: this.#keepsAlive,
      })
      return
    }
    Atomics.store(this.#words, alarmWords.NEXT, alarmAt(this.#alarmAt, systemClock.now()))
    Atomics.notify(this.#words, alarmWords.NEXT)
  }

  #ring(): void {
    this.#alarmAt = Infinity
    Atomics.store(this.#words, alarmWords.NEXT, NO_ALARM)
    this.#onAlarm()
  }
}
