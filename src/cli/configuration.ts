import { readFileSync } from 'node:fs'
import { InvalidInputError, shown } from '../error/index.js'
import type { ServerOptions } from '../server/index.js'

type Value = string | number | boolean | readonly string[]

interface Setting {
  /** As `ServerOptions` and the file have it. */
  readonly name: string
  readonly type: 'text' | 'number' | 'flag' | 'list'
  readonly help: string
}

/** What can be configured. A flag `--max-body-bytes` is CARILLON_SERVE_MAX_BODY_BYTES and maxBodyBytes of the file. */
const settings: readonly Setting[] = Object.freeze([
  { name: 'store', type: 'text', help: 'where timers are kept (file:./carillon-data)' },
  { name: 'host', type: 'text', help: 'the address to listen on (127.0.0.1)' },
  { name: 'port', type: 'number', help: 'the port to listen on (7750); 0 for one that is free' },
  { name: 'auth', type: 'flag', help: 'whether requests need a key (true); false only on loopback' },
  { name: 'rate', type: 'number', help: 'requests a second for each key (10000); 0 for no limit' },
  { name: 'maxBodyBytes', type: 'number', help: 'what a request may weigh (1048576)' },
  { name: 'requestTimeoutMs', type: 'number', help: 'within what time a request must have come (60000)' },
  { name: 'corsOrigins', type: 'list', help: 'web pages of these origins may call, comma-separated (none)' },
  { name: 'history', type: 'text', help: 'what the history keeps: none, failures or all (failures)' },
  { name: 'webhookHttp', type: 'flag', help: 'whether webhooks may be plain http (false)' },
  { name: 'webhookPorts', type: 'list', help: 'ports that webhooks may call (443,8443)' },
  { name: 'webhookHosts', type: 'list', help: 'hosts that webhooks may call whatever their address (none)' },
  { name: 'webhookAddresses', type: 'list', help: 'ranges that webhooks may call though not public (none)' },
  { name: 'forwarding', type: 'flag', help: 'whether instances of one store ask each other directly (true)' },
  { name: 'address', type: 'text', help: 'where other instances reach this one (where it listens)' },
  {
    name: 'tracing',
    type: 'flag',
    help: 'trace timers by OpenTelemetry, with the SDK of the process (false)',
  },
  { name: 'logLevel', type: 'text', help: 'debug, info, warn, error or silent (info)' },
  { name: 'logFormat', type: 'text', help: 'json or text (text on a terminal, else json)' },
])

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

/** Flags before the environment, the environment before the file. Refuses names that nobody knows. */
export function configurationOf(
  flags: Readonly<Record<string, unknown>>,
  environment: Readonly<Record<string, string | undefined>>,
  file: string | undefined,
): Configuration {
  checkEnvironment(environment)
  const fromFile = file === undefined ? {} : readConfiguration(file)
  const found: Record<string, Value> = {}
  for (const setting of settings) {
    const { name } = setting
    const text = flags[flagOf(name)] ?? environment[environmentOf(name)]
    if (typeof text === 'string') found[name] = parsed(setting, text)
    else if (fromFile[name] !== undefined) found[name] = checked(setting, fromFile[name])
  }
  return found
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
    throw new InvalidInputError('invalid-option', `${shown(file)} must hold an object, got ${shown(read)}`)
  for (const name of Object.keys(read)) {
    if (!settings.some((setting) => setting.name === name)) throw unknown(`${file} has`, name)
  }
  return read as Record<string, unknown>
}

function checkEnvironment(environment: Readonly<Record<string, string | undefined>>): void {
  const known = new Set(settings.map(({ name }) => environmentOf(name)))
  for (const name of Object.keys(environment)) {
    if (name.startsWith(ENVIRONMENT) && !known.has(name)) throw unknown('the environment has', name)
  }
}

function unknown(where: string, name: string): InvalidInputError {
  const names = settings.map((setting) => setting.name).join(', ')
  return new InvalidInputError(
    'unknown-option',
    `${where} ${shown(name)}, which nobody knows; known are ${names}`,
  )
}

function parsed({ name, type }: Setting, text: string): Value {
  switch (type) {
    case 'text':
      return text
    case 'list':
      return text.split(',').map((each) => each.trim())
    case 'number':
      if (/^\d+$/.test(text)) return Number(text)
      throw refused(name, 'a whole number', text)
    case 'flag':
      if (text === 'true' || text === 'false') return text === 'true'
      throw refused(name, 'true or false', text)
  }
}

function checked({ name, type }: Setting, value: unknown): Value {
  switch (type) {
    case 'text':
      if (typeof value === 'string') return value
      throw refused(name, 'a text', value)
    case 'number':
      if (typeof value === 'number') return value
      throw refused(name, 'a number', value)
    case 'flag':
      if (typeof value === 'boolean') return value
      throw refused(name, 'true or false', value)
    case 'list':
      if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value
      throw refused(name, 'a list of texts', value)
  }
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
