import { fork, type ChildProcess } from 'node:child_process'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

/** Runs tasks one after the other in another process: the module at `url`, which calls `answerTasks`. */
export class OtherProcess<Task extends object, Answer> {
  readonly #child: ChildProcess

  constructor(url: string) {
    this.#child = fork(fileURLToPath(url), ['answer-tasks'])
  }

  ask(task: Task): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#child.once('exit', (code) => reject(new Error(`a process of the bench exited with code ${code}`)))
      this.#child.once('message', (message) => {
        this.#child.removeAllListeners('exit')
        resolve(message as Answer)
      })
      this.#child.send(task)
    })
  }

  stop(): void {
    this.#child.removeAllListeners()
    this.#child.kill()
  }
}

/** The child's side of an `OtherProcess`. Does nothing if the module was imported for another purpose. */
export function answerTasks(carryOut: (task: never) => Promise<object>): void {
  if (process.argv[2] !== 'answer-tasks') return
  process.on('message', (task) => void carryOut(task as never).then((answer) => process.send!(answer)))
}
