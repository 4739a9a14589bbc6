import { pathToFileURL } from 'node:url'
import { checkOptions, InvalidInputError, shown } from '../error/index.js'
import { type KindOptions, timer, type Timers } from '../front/index.js'

/** A module that handles the timers of a kind, on threads of the server. */
export interface HandlerModule extends Omit<KindOptions<unknown>, 'payload'> {
  readonly kind: string
  /** Its default export is the handler: a file URL, or a path from the working directory. */
  readonly module: string | URL
  /** Default `'default'`. */
  readonly namespace?: string
  /** Default 1. */
  readonly threads?: number
}

const names = ['kind', 'module', 'namespace', 'threads', 'retry', 'concurrency', 'rate', 'timeout']

/** Refuses handlers that are not described as they must be. Whether a module can be loaded is seen at the start. */
export function checkHandlerModules(handlers: unknown): void {
  if (!Array.isArray(handlers))
    throw new InvalidInputError('invalid-option', `handlers must be an array, got ${shown(handlers)}`)
  for (const handler of handlers) {
    checkOptions('a handler', handler, names)
    kindOf(handler as HandlerModule)
    moduleUrl((handler as HandlerModule).module)
  }
}

/** Loads the modules. From then on, they get the timers of their kinds, whatever targets these have in the store. */
export async function addHandlerModules(
  handlers: readonly HandlerModule[],
  timersOf: (namespace: string) => Timers | Promise<Timers>,
): Promise<void> {
  for (const handler of handlers) {
    const { module, namespace = 'default', threads } = handler
    const timers = await timersOf(namespace)
    await timers.handle(kindOf(handler), moduleUrl(module), threads === undefined ? {} : { threads })
  }
}

function kindOf({ kind, retry, concurrency, rate, timeout }: HandlerModule) {
  return timer<unknown>(kind, {
    ...(retry !== undefined && { retry }),
    ...(concurrency !== undefined && { concurrency }),
    ...(rate !== undefined && { rate }),
    ...(timeout !== undefined && { timeout }),
  })
}

function moduleUrl(module: unknown): URL {
  if (module instanceof URL) return module
  if (typeof module === 'string' && module !== '')
    return module.startsWith('file:') ? new URL(module) : pathToFileURL(module)
  throw new InvalidInputError(
    'invalid-option',
    `the module of a handler must be a path, such as "./resize.js", or a file URL, got ${shown(module)}`,
  )
}
