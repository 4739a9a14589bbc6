import type { Server as RunningServer } from './server.js'
import type { ServerOptions } from './server-options.js'
import { loadServerPackage } from './server-packages.js'

/** Timers over HTTP, as `Server.start` returns them. */
export type Server = RunningServer

/**
 * Starts servers. The code of a server, with the packages that only it needs, is loaded by the first call. So a program
 * without these packages can import this module, and gets an error that says what to install.
 */
export const Server: {
  /** Opens the store, listens, and starts firing timers. */
  start(options: ServerOptions): Promise<Server>
  /**
   * Opens the store and starts firing timers inside a program with a server of its own, which passes requests to
   * `handler`, `plugin` or `fetch`.
   */
  mount(options: ServerOptions): Promise<Server>
  /** Opens a store that no other instance has open. The server only answers through `answer`, and fires no timers. */
  open(options: Pick<ServerOptions, 'store' | 'clock' | 'backupFolder'>): Promise<Server>
} = Object.freeze({
  start: async (options: ServerOptions) => await (await loadServer()).start(options),
  mount: async (options: ServerOptions) => await (await loadServer()).mount(options),
  open: async (options: Pick<ServerOptions, 'store' | 'clock' | 'backupFolder'>) =>
    await (await loadServer()).open(options),
})

async function loadServer(): Promise<typeof RunningServer> {
  return (await loadServerPackage(() => import('./server.js'))).Server
}
