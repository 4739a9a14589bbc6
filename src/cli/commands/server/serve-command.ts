import { InvalidInputError, shown } from '../../../error/index.js'
import type { Server } from '../../../server/index.js'
import { type Arguments, type Command, exitCodes, type Terminal } from '../../command.js'
import { configurationFile, configurationOf, serveFlags, serveHelp } from '../../configuration.js'
import { CONFIGURATION_FILE, DEFAULT_STORE, DEFAULT_HOST } from '../../defaults.js'
import { lastResort } from '../../last-resort.js'
import { loggerOf } from '../../logger.js'
import { secretKeyOf } from '../../secret-key.js'

const levels = ['debug', 'info', 'warn', 'error', 'silent']

/** Serves timers over HTTP until a signal stops it. */
export const serve: Command = {
  name: 'serve',
  usage: '[options]',
  summary: 'Serve timers over HTTP.',
  options: { ...serveFlags, config: { type: 'string' } },
  help: [
    ...serveHelp,
    ['--config', `a JSON file with the same settings (${CONFIGURATION_FILE}, if it exists)`],
    [
      '',
      'Each has an environment variable: --port is CARILLON_SERVE_PORT. Flags win over variables, variables over the file.',
    ],
    [
      '',
      'CARILLON_SECRET_KEY encrypts the targets in the store. A file store has a key in its folder, secret.key.',
    ],
  ],
  examples: [
    'carillon serve',
    'carillon serve --store postgres://localhost/timers --port 8080',
    'carillon serve --host 0.0.0.0 --log-format json',
  ],
  positionals: [0, 0],
  run: async ({ values }: Arguments, terminal: Terminal) => {
    const file = configurationFile(values['config'])
    const configured = configurationOf(values, terminal.environment, file)
    const { logLevel = 'info', logFormat = terminal.isTerminal ? 'text' : 'json', ...rest } = configured
    const { webhookHttp, webhookPorts, webhookHosts, webhookAddresses, ...options } = rest
    const guard = {
      ...(webhookHttp !== undefined && { http: webhookHttp }),
      ...(webhookPorts !== undefined && { ports: webhookPorts.map(Number) }),
      ...(webhookHosts !== undefined && { hosts: webhookHosts }),
      ...(webhookAddresses !== undefined && { addresses: webhookAddresses }),
    }
    if (!levels.includes(logLevel)) throw refused('logLevel', levels, logLevel)
    if (!['json', 'text'].includes(logFormat)) throw refused('logFormat', ['json', 'text'], logFormat)
    const { isLoopback, Server, version } = await import('../../../server/index.js')
    const logger = await loggerOf(logLevel, logFormat, (line) => terminal.error(line))
    const store = typeof options.store === 'string' ? options.store : DEFAULT_STORE
    const failed = lastResort(logger)
    const secretKey = await secretKeyOf(store, terminal.environment, true)
    if (secretKey === undefined && !/^memory:/i.test(store))
      logger.warn('secrets of webhooks are stored as they are: set CARILLON_SECRET_KEY in all instances')
    const server = await Server.start({
      ...options,
      store,
      guard,
      logger,
      ...(secretKey !== undefined && { secretKey }),
    })
    const needsKey = options.auth ?? true
    // The output of a server on a network is often collected, and its readers must not get in by it.
    const isPrivate = isLoopback(options.host ?? DEFAULT_HOST) || terminal.isTerminal
    const link = needsKey && isPrivate ? server.createSignInLink() : undefined
    terminal.out(greeting(server, version, needsKey, link))
    const reason = await Promise.race([stopSignal(), failed])
    logger.info({ reason }, 'stopping: no new requests, waiting for open requests and running attempts')
    await server.stop()
    logger.info('stopped')
    return reason === 'failed' ? exitCodes.failed : exitCodes.done
  },
}

/** The first output: the URL, the page, the docs, the first key, and a command that sets a timer. */
function greeting(
  { url, address, firstToken }: Server,
  version: string,
  needsKey: boolean,
  link: string | undefined,
): string {
  const key = firstToken ?? '$CARILLON_KEY'
  const authorization = needsKey ? ` -H "Authorization: Bearer ${key}"` : ''
  const lines = [
    `Carillon ${version} listens on ${address}`,
    ...(address === url ? [] : [`  here       ${url}`]),
    `  page       ${link ?? `${address}/`}`,
    ...(link === undefined ? [] : ['             (signs in once, within ten minutes)']),
    `  documents  ${address}/docs`,
    ...(firstToken === undefined
      ? []
      : ['  first key  has the scope admin and is shown only now:', `             ${firstToken}`]),
    '',
    'Set a timer that fires into this terminal in three seconds:',
    '',
    `  curl -X PUT ${address}/v1/timers/hello/world${authorization} -H "Content-Type: application/json" -d '{"in":"3s","payload":"it works"}'`,
    '',
  ]
  return `${lines.join('\n')}\n`
}

/** Waits for the signal to stop. A second signal ends the process immediately. */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        for (const again of ['SIGINT', 'SIGTERM'] as const) process.on(again, () => process.exit(130))
        resolve(signal)
      })
    }
  })
}

function refused(name: string, wanted: readonly string[], got: string): InvalidInputError {
  return new InvalidInputError(
    'invalid-option',
    `${name} must be one of ${wanted.join(', ')}, got ${shown(got)}`,
  )
}
