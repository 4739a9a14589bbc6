import { CarillonError, errorCodes } from '../../../error/index.js'
import type { Finding, Store, StoreSurvey } from '../../../store/index.js'
import { systemClock } from '../../../time/index.js'
import { ApiClient, apiHelp, apiOptions } from '../../api-client.js'
import { type Arguments, type Command, exitCodes, stringOption, type Terminal } from '../../command.js'
import { configurationFile, configurationOf } from '../../configuration.js'
import { CONFIGURATION_FILE, DEFAULT_PORT, DEFAULT_STORE } from '../../defaults.js'

const MIN_NODE = [20, 19] as const
const OVERDUE_MS = 10_000
const MAX_OFFSET_MS = 500

export const doctor: Command = {
  name: 'doctor',
  usage: '[options]',
  summary: 'Look for anything that keeps timers from firing: machine, store, port, server, key.',
  options: { ...apiOptions, config: stringOption, port: stringOption },
  help: [
    ['--config', `the configuration of carillon serve (${CONFIGURATION_FILE}, if it exists)`],
    ['--port', `where carillon serve would listen (${DEFAULT_PORT})`],
    ...apiHelp.map(([name, help]): readonly [string, string] =>
      name === '--store'
        ? [name, `the store that carillon serve would use (${DEFAULT_STORE})`]
        : [name, help],
    ),
    ['', 'Exits with 1 if a check failed. Warnings do not count.'],
  ],
  examples: ['carillon doctor', 'carillon doctor --store postgres://localhost/timers --json'],
  positionals: [0, 0],
  run: async (given, terminal) => {
    const findings: Finding[] = []
    for await (const finding of examine(given, terminal)) {
      findings.push(finding)
      terminal.out(given.values['json'] === true ? `${JSON.stringify(finding)}\n` : lineOf(finding))
    }
    return findings.some(({ verdict }) => verdict === 'fail') ? exitCodes.failed : exitCodes.done
  },
}

function lineOf({ name, verdict, found, advice }: Finding): string {
  const line = `${verdict.padEnd(4)}  ${name}: ${found}\n`
  return advice === undefined ? line : `${line}      ${advice}\n`
}

async function* examine(given: Arguments, terminal: Terminal): AsyncGenerator<Finding> {
  yield nodeFinding(process.versions.node)
  const { store: storeFlag, port: portFlag, config } = given.values
  const flags = {
    ...(storeFlag !== undefined && { store: storeFlag }),
    ...(portFlag !== undefined && { port: portFlag }),
  }
  const configured = configurationOf(flags, terminal.environment, configurationFile(config))
  const { store = DEFAULT_STORE, port = DEFAULT_PORT } = configured
  if (typeof store === 'string') yield* storeFindings(store)
  yield await portFinding(port)
  yield* serverFindings(
    new ApiClient(given, terminal),
    terminal.environment['CARILLON_KEY'] ?? given.values['key'],
  )
}

export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isEnough = major > MIN_NODE[0] || (major === MIN_NODE[0] && minor >= MIN_NODE[1])
  if (isEnough) return { name: 'Node.js', verdict: 'ok', found: version }
  return { name: 'Node.js', verdict: 'fail', found: version, advice: 'install Node.js 20.19 or later' }
}

// ---- the store

async function* storeFindings(url: string): AsyncGenerator<Finding> {
  const { openStore, surveyStore } = await import('../../../store/index.js')
  let survey: StoreSurvey
  try {
    survey = await surveyStore(url)
  } catch (error) {
    yield failed('store', error)
    return
  }
  yield formatFinding(survey)
  yield* survey.findings
  const { format, heldBy, knownVersion } = survey
  // Opening a missing or older store would create or migrate it.
  if (heldBy !== undefined || format?.version !== knownVersion) return
  try {
    const store = await openStore(url)
    try {
      yield await clockFinding(store)
      yield await writeFinding(store)
      yield await overdueFinding(store)
      yield await ownersFinding(store)
      yield await keyFinding(store)
    } finally {
      await store.stop()
    }
  } catch (error) {
    yield failed('store', error)
  }
}

function formatFinding({ format, heldBy, knownVersion }: StoreSurvey): Finding {
  const name = 'store'
  if (heldBy !== undefined) return { name, verdict: 'ok', found: `open in ${heldBy}` }
  if (format === undefined) return { name, verdict: 'ok', found: 'reachable; carillon serve will create it' }
  const found = `version ${format.version}, strategy ${format.strategy}, ${format.shardCount} shards`
  if (format.version === knownVersion) return { name, verdict: 'ok', found }
  return format.version > knownVersion
    ? { name, verdict: 'fail', found, advice: `this program knows version ${knownVersion}: upgrade Carillon` }
    : { name, verdict: 'warn', found, advice: 'opening it migrates it, and so does carillon migrate' }
}

async function clockFinding(store: Store): Promise<Finding> {
  const before = systemClock.now()
  const there = await store.now()
  const offset = Math.round(there - (before + systemClock.now()) / 2)
  const found = `the store's clock is ${Math.abs(offset)} ms ${offset < 0 ? 'behind' : 'ahead of'} this machine's`
  if (Math.abs(offset) <= MAX_OFFSET_MS / 2) return { name: 'clock', verdict: 'ok', found }
  const verdict = Math.abs(offset) > MAX_OFFSET_MS ? 'fail' : 'warn'
  const advice = `synchronize both with NTP: above ${MAX_OFFSET_MS} ms an instance acquires no shards`
  return { name: 'clock', verdict, found, advice }
}

async function writeFinding(store: Store): Promise<Finding> {
  const name = 'doctor/write'
  await store.putSetting(name, String(systemClock.now()))
  await store.putSetting(name, undefined)
  return { name: 'writing', verdict: 'ok', found: 'the store accepts writes' }
}

async function overdueFinding(store: Store): Promise<Finding> {
  const untilExclusive = Math.floor(await store.now()) - OVERDUE_MS
  const [count = 0] = await store.histogram({ fromInclusive: 0, untilExclusive, sliceMs: untilExclusive })
  const name = 'due timers'
  if (count === 0) return { name, verdict: 'ok', found: 'none is overdue by more than 10 s' }
  return {
    name,
    verdict: 'warn',
    found: `${count} overdue by more than 10 s`,
    advice: 'start a server; if one is running, check /readyz, paused kinds, and kinds without a target',
  }
}

/** Timers of a shard without an owner do not fire. */
async function ownersFinding(store: Store): Promise<Finding> {
  const name = 'shards'
  if (store.mode === 'claim') return { name, verdict: 'ok', found: 'the strategy claim has no owners' }
  const now = await store.now()
  const rows = await store.shards()
  const unowned = rows.filter(({ owner, leaseUntil }) => owner === '' || leaseUntil <= now)
  if (unowned.length === 0) return { name, verdict: 'ok', found: `all ${rows.length} have an owner` }
  if (unowned.length === rows.length) {
    return {
      name,
      verdict: 'warn',
      found: 'none has an owner',
      advice: 'timers fire only while a server runs: start carillon serve',
    }
  }
  return {
    name,
    verdict: 'warn',
    found: `no owner for ${unowned.map(({ shard }) => shard).join(', ')} of ${rows.length}`,
    advice:
      'try again in half a minute; if it does not change, check /readyz and the clock of every instance',
  }
}

async function keyFinding(store: Store): Promise<Finding> {
  const { ApiKeys } = await import('../../../server/index.js')
  const keys = new ApiKeys(store, systemClock)
  await keys.refresh()
  const name = 'keys'
  if (keys.hasActive) return { name, verdict: 'ok', found: `${keys.all.length} in the store` }
  return {
    name,
    verdict: 'warn',
    found: 'no active key',
    advice: 'the next carillon serve makes one and shows it once, or use carillon keys create --store …',
  }
}

// ---- the server

async function portFinding(port: number): Promise<Finding> {
  const name = `port ${port}`
  const who = await listenerAt(`http://127.0.0.1:${port}`)
  if (who === 'nobody') return { name, verdict: 'ok', found: 'free' }
  if (who === 'carillon') return { name, verdict: 'ok', found: 'a Carillon server listens there' }
  return {
    name,
    verdict: 'fail',
    found: who === 'blocked' ? listenerTexts.blocked : 'another program listens there',
    advice: 'choose another --port for carillon serve',
  }
}

/** Who listens at a URL. 'blocked': `fetch` refuses its port. 'unknown-host': its name does not resolve. */
type Listener = 'carillon' | 'nobody' | 'other' | 'blocked' | 'unknown-host'

const listenerTexts: Readonly<Record<Exclude<Listener, 'carillon'>, string>> = Object.freeze({
  nobody: 'no server is running',
  other: 'the server there is not Carillon',
  blocked: 'fetch and browsers refuse this port, whatever listens there',
  'unknown-host': 'the host name does not resolve',
})

async function listenerAt(url: string): Promise<Listener> {
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2000) })
    return (await response.text()) === '{"status":"alive"}' ? 'carillon' : 'other'
  } catch (error) {
    const { code, message } = (error as { cause?: { code?: string; message?: string } }).cause ?? {}
    if (code === 'ECONNREFUSED') return 'nobody'
    if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'unknown-host'
    // `fetch` has no code for this error.
    return message === 'bad port' ? 'blocked' : 'other'
  }
}

async function* serverFindings(api: ApiClient, key: unknown): AsyncGenerator<Finding> {
  const name = `server ${api.url}`
  const who = await listenerAt(api.url)
  if (who !== 'carillon') {
    const isBlocked = who === 'blocked'
    yield {
      name,
      verdict: isBlocked ? 'fail' : 'warn',
      found: listenerTexts[who],
      advice: isBlocked
        ? 'let the server listen on another port, and pass it with --url'
        : 'timers fire only while a server runs: start carillon serve, or pass --url',
    }
    return
  }
  const faults = await api.faults()
  yield faults.length === 0
    ? { name, verdict: 'ok', found: 'ready: due timers fire' }
    : { name, verdict: 'fail', found: faults.join('; '), advice: 'read its log and docs/operations.md' }
  try {
    await api.call('GET', '/v1/kinds')
    yield { name: 'key', verdict: 'ok', found: 'the server accepts it' }
    yield* causeFindings(api)
  } catch (error) {
    const isGiven = typeof key === 'string' && key !== ''
    yield { ...failed('key', error), ...(isGiven ? {} : { advice: 'set CARILLON_KEY to a key' }) }
  }
}

/** Why due timers do not fire, as the server sees it. */
async function* causeFindings(api: ApiClient): AsyncGenerator<Finding> {
  const name = 'firing'
  const { causes } = await api.call<{ causes: { text: string; remedy: string }[] }>('GET', '/v1/diagnosis')
  if (causes.length === 0) yield { name, verdict: 'ok', found: 'nothing keeps due timers from firing' }
  for (const { text, remedy } of causes) yield { name, verdict: 'warn', found: text, advice: remedy }
}

function failed(name: string, error: unknown): Finding {
  if (!(error instanceof CarillonError)) throw error
  return { name, verdict: 'fail', found: `${error.message} (${error.code})`, advice: errorCodes[error.code] }
}
