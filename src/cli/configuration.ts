import { existsSync, readFileSync } from 'node:fs'
import { InvalidInputError, shown } from '../error/index.js'
import type { HandlerModule, ServerOptions } from '../server/index.js'
import { CONFIGURATION_FILE, DEFAULT_PORT, DEFAULT_STORE } from './defaults.js'

type Value = string | number | boolean | readonly string[] | readonly HandlerModule[]

interface Setting {
  /** Its name in `ServerOptions` and in the file. */
  readonly name: string
  readonly type: 'string' | 'integer' | 'flag' | 'list' | 'handlers'
  readonly help: string
}

/** All settings of `serve`. `--max-body-bytes`, CARILLON_SERVE_MAX_BODY_BYTES and maxBodyBytes in the file are one. */
const settings: readonly Setting[] = Object.freeze([
  { name: 'store', type: 'string', help: `the store's URL (${DEFAULT_STORE})` },
  { name: 'host', type: 'string', help: 'the address to listen on (127.0.0.1)' },
  { name: 'port', type: 'integer', help: `the port to listen on (${DEFAULT_PORT}); 0 picks a free one` },
  { name: 'auth', type: 'flag', help: 'whether requests need a key (true); false only on loopback' },
  { name: 'rate', type: 'integer', help: 'requests per second for each key (10000); 0 for no limit' },
  { name: 'maxBodyBytes', type: 'integer', help: 'the largest body of a request (1048576)' },
  {
    name: 'requestTimeoutMs',
    type: 'integer',
    help: 'the time in which a whole request must arrive (60000)',
  },
  {
    name: 'callTimeoutMs',
    type: 'integer',
    help: 'how long a request may wait for the store before it is refused (10000)',
  },
  { name: 'corsOrigins', type: 'list', help: 'origins of web pages that may call, comma-separated (none)' },
  { name: 'history', type: 'string', help: 'what the history keeps: none, failures or all (failures)' },
  { name: 'webhookHttp', type: 'flag', help: 'whether webhooks may use plain http (false)' },
  { name: 'webhookPorts', type: 'list', help: 'ports that webhooks may call (443,8443)' },
  { name: 'webhookHosts', type: 'list', help: 'hosts that webhooks may call, whatever their address (none)' },
  {
    name: 'webhookAddresses',
    type: 'list',
    help: 'address ranges that webhooks may call although they are not public (none)',
  },
  {
    name: 'forwarding',
    type: 'flag',
    help: 'whether instances of one store send operations to each other (true)',
  },
  { name: 'address', type: 'string', help: 'where other instances reach this one (where it listens)' },
  { name: 'backupFolder', type: 'string', help: 'where carillon backup puts copies of a file store (none)' },
  {
    name: 'handlers',
    type: 'handlers',
    help: 'modules that handle kinds on threads: kind=path, comma-separated (none)',
  },
  { name: 'tracing', type: 'flag', help: "trace timers with the process's OpenTelemetry SDK (false)" },
  {
    name: 'engineStrategy',
    type: 'string',
    help: 'preload, lookahead or claim (preload, or what the store was made for)',
  },
  { name: 'engineMaxTimers', type: 'integer', help: 'the most timers of a shard in memory (1000000)' },
  { name: 'engineMaxBytes', type: 'integer', help: 'about the most bytes of a shard in memory (536870912)' },
  { name: 'engineWindowMs', type: 'integer', help: 'how far ahead timers are loaded into memory (270000)' },
  { name: 'engineMaxQueued', type: 'integer', help: 'how many operations may wait to be written (100000)' },
  {
    name: 'engineConcurrency',
    type: 'integer',
    help: 'attempts at once for a kind whose target has no limit (10000)',
  },
  { name: 'engineSettleMs', type: 'integer', help: 'the longest time before an outcome is settled (1000)' },
  { name: 'engineLeaseMs', type: 'integer', help: 'how long a shard is owned without a renewal (10000)' },
  {
    name: 'engineMaxClockOffsetMs',
    type: 'integer',
    help: "how far this clock may be off from the store's (500)",
  },
  {
    name: 'engineStallMs',
    type: 'integer',
    help: 'due timers that wait for longer are reported as stalled (10000)',
  },
  { name: 'engineStopMs', type: 'integer', help: 'how long a stop waits for running attempts (10000)' },
  { name: 'engineOutcomesMs', type: 'integer', help: 'how long finished timers are remembered (3600000)' },
  {
    name: 'engineMaxOutcomes',
    type: 'integer',
    help: 'about how many finished timers are remembered (100000)',
  },
  { name: 'logLevel', type: 'string', help: 'debug, info, warn, error or silent (info)' },
  { name: 'logFormat', type: 'string', help: 'json or text (text on a terminal, json otherwise)' },
])

/** The settings of `serve`. Those of the engine are in `engine`. */
export type Configuration = Partial<Omit<ServerOptions, 'guard'>> & {
  readonly logLevel?: string
  readonly logFormat?: string
  readonly webhookHttp?: boolean
  readonly webhookPorts?: readonly string[]
  readonly webhookHosts?: readonly string[]
  readonly webhookAddresses?: readonly string[]
}

const ENVIRONMENT = 'CARILLON_SERVE_'

/** The flags of `serve`, as `parseArgs` takes them. */
export const serveFlags = Object.fromEntries(
  settings.map(({ name }) => [flagOf(name), { type: 'string' as const }]),
)

export const serveHelp = settings.map(({ name, help }): readonly [string, string] => [
  `--${flagOf(name)}`,
  help,
])

/** The configuration file to read: the named one, or the default one if it exists. */
export function configurationFile(named: unknown): string | undefined {
  if (typeof named === 'string') return named
  return existsSync(CONFIGURATION_FILE) ? CONFIGURATION_FILE : undefined
}

/** Reads the settings. Flags win over the environment, and that over the file. Refuses unknown names. */
export function configurationOf(
  flags: Readonly<Record<string, unknown>>,
  environment: Readonly<Record<string, string | undefined>>,
  file: string | undefined,
): Configuration {
  checkEnvironment(environment)
  const fromFile = file === undefined ? {} : readConfiguration(file)
  const found: Record<string, Value> = {}
  const engine: Record<string, Value> = {}
  for (const setting of settings) {
    const { name } = setting
    const text = flags[flagOf(name)] ?? environment[environmentOf(name)]
    const value =
      typeof text === 'string'
        ? parsed(setting, text)
        : fromFile[name] === undefined
          ? undefined
          : checked(setting, fromFile[name])
    if (value === undefined) continue
    const ofEngine = /^engine(.)(.*)$/.exec(name)
    if (ofEngine === null) found[name] = value
    else engine[ofEngine[1]!.toLowerCase() + ofEngine[2]!] = value
  }
  return Object.keys(engine).length === 0 ? found : { ...found, engine }
}

function readConfiguration(file: string): Readonly<Record<string, unknown>> {
  let read: unknown
  try {
    read = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new InvalidInputError(
      'invalid-option',
      `cannot read the configuration ${shown(file)}: ${(error as Error).message}`,
    )
  }
  if (typeof read !== 'object' || read === null || Array.isArray(read))
    throw new InvalidInputError('invalid-option', `${shown(file)} must contain an object, got ${shown(read)}`)
  for (const name of Object.keys(read)) {
    if (!settings.some((setting) => setting.name === name)) throw unknown(file, name)
  }
  return read as Record<string, unknown>
}

function checkEnvironment(environment: Readonly<Record<string, string | undefined>>): void {
  const known = new Set(settings.map(({ name }) => environmentOf(name)))
  for (const name of Object.keys(environment)) {
    if (name.startsWith(ENVIRONMENT) && !known.has(name)) throw unknown('the environment', name)
  }
}

function unknown(where: string, name: string): InvalidInputError {
  const names = settings.map((setting) => setting.name).join(', ')
  return new InvalidInputError(
    'unknown-option',
    `unknown setting ${shown(name)} in ${where}; the settings are ${names}`,
  )
}

function parsed({ name, type }: Setting, text: string): Value {
  switch (type) {
    case 'string':
      return text
    case 'list':
      return text.split(',').map((each) => each.trim())
    case 'handlers':
      return text.split(',').map((each) => handlerOf(each.trim()))
    case 'integer':
      if (/^\d+$/.test(text)) return Number(text)
      throw refused(name, 'an integer', text)
    case 'flag':
      if (text === 'true' || text === 'false') return text === 'true'
      throw refused(name, 'true or false', text)
  }
}

function checked({ name, type }: Setting, value: unknown): Value {
  switch (type) {
    case 'string':
      if (typeof value === 'string') return value
      throw refused(name, 'a string', value)
    case 'integer':
      if (typeof value === 'number') return value
      throw refused(name, 'a number', value)
    case 'flag':
      if (typeof value === 'boolean') return value
      throw refused(name, 'true or false', value)
    case 'list':
      if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value
      throw refused(name, 'an array of strings', value)
    case 'handlers':
      // The server checks each of them.
      if (Array.isArray(value)) return value as readonly HandlerModule[]
      throw refused(name, 'an array of objects such as { "kind": "resize", "module": "./resize.js" }', value)
  }
}

/** A handler as a flag names it. More about it can be said in the file. */
function handlerOf(text: string): HandlerModule {
  const at = text.indexOf('=')
  if (at > 0 && at < text.length - 1) return { kind: text.slice(0, at), module: text.slice(at + 1) }
  throw refused('handlers', 'a kind and the path of its module, such as resize=./resize.js', text)
}

function refused(name: string, wanted: string, got: unknown): InvalidInputError {
  return new InvalidInputError('invalid-option', `${name} must be ${wanted}, got ${shown(got)}`)
}

function flagOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

function environmentOf(name: string): string {
  return ENVIRONMENT + flagOf(name).replace(/-/g, '_').toUpperCase()
}
