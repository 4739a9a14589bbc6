import { existsSync } from 'node:fs'
import { CarillonError, errorCodes } from '../error/index.js'
import { ApiKeys } from '../server/index.js'
import { type Finding, openStore, type Store, type StoreSurvey, surveyStore } from '../store/index.js'
import { systemClock } from '../time/index.js'
import { Api, apiHelp, apiOptions } from './api.js'
import { type Arguments, type Command, exitCodes, type Terminal } from './command.js'
import { configurationOf } from './configuration.js'

const text = { type: 'string' as const }
const CONFIGURATION = 'carillon.json'
const LEAST_NODE = [20, 19] as const
const OVERDUE_MS = 10_000
const MOST_OFFSET_MS = 500

export const doctor: Command = {
  name: 'doctor',
  usage: '[options]',
  summary: 'Look for what keeps timers from firing: machine, store, port, server, key.',
  options: { ...apiOptions, config: text, port: text },
  help: [
    ['--config', 'the configuration of carillon serve (carillon.json, if there is one)'],
    ['--port', 'where carillon serve would listen (7750)'],
    ...apiHelp.map(([name, help]): readonly [string, string] =>
      name === '--store'
        ? [name, 'where carillon serve would keep timers (file:./carillon-data)']
        : [name, help],
    ),
    ['', 'It ends with 1 when anything failed; warnings do not count.'],
  ],
  examples: ['carillon doctor', 'carillon doctor --store postgres://localhost/timers --json'],
  words: [0, 0],
  run: async (given, terminal) => {
    const findings: Finding[] = []
    for await (const finding of examined(given, terminal)) {
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

async function* examined(given: Arguments, terminal: Terminal): AsyncGenerator<Finding> {
  yield nodeFinding(process.versions.node)
  const { store: asked, port: wanted, config } = given.values
  const file = typeof config === 'string' ? config : existsSync(CONFIGURATION) ? CONFIGURATION : undefined
  const flags = {
    ...(asked !== undefined && { store: asked }),
    ...(wanted !== undefined && { port: wanted }),
  }
  const configured = configurationOf(flags, terminal.environment, file)
  const { store = 'file:./carillon-data', port = 7750 } = configured
  if (typeof store === 'string') yield* storeFindings(store)
  yield await portFinding(port)
  yield* serverFindings(new Api(given, terminal), terminal.environment['CARILLON_KEY'] ?? given.values['key'])
}

export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isEnough = major > LEAST_NODE[0] || (major === LEAST_NODE[0] && minor >= LEAST_NODE[1])
  if (isEnough) return { name: 'Node.js', verdict: 'ok', found: version }
  return { name: 'Node.js', verdict: 'fail', found: version, advice: 'install Node.js 20.19 or later' }
}

// ---- the store

async function* storeFindings(url: string): AsyncGenerator<Finding> {
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
  // Opening one that is not there, or is older, would make or migrate it.
  if (heldBy !== undefined || format?.version !== knownVersion) return
  try {
    const store = await openStore(url)
    try {
      yield await clockFinding(store)
      yield await writeFinding(store)
      yield await overdueFinding(store)
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
  if (format === undefined) return { name, verdict: 'ok', found: 'reachable; carillon serve will make it' }
  const found = `version ${format.version}, strategy ${format.strategy}, ${format.shardCount} shards`
  if (format.version === knownVersion) return { name, verdict: 'ok', found }
  return format.version > knownVersion
    ? { name, verdict: 'fail', found, advice: `this program knows version ${knownVersion}: upgrade Carillon` }
    : { name, verdict: 'warn', found, advice: 'it is migrated when it is opened, or by carillon migrate' }
}

async function clockFinding(store: Store): Promise<Finding> {
  const before = systemClock.now()
  const there = await store.now()
  const offset = Math.round(there - (before + systemClock.now()) / 2)
  const found = `the store's clock is ${Math.abs(offset)} ms ${offset < 0 ? 'behind' : 'ahead of'} this machine's`
  if (Math.abs(offset) <= MOST_OFFSET_MS / 2) return { name: 'clock', verdict: 'ok', found }
  const verdict = Math.abs(offset) > MOST_OFFSET_MS ? 'fail' : 'warn'
  const advice = `keep both by NTP: beyond ${MOST_OFFSET_MS} ms an instance claims no shards`
  return { name: 'clock', verdict, found, advice }
}

async function writeFinding(store: Store): Promise<Finding> {
  const name = 'doctor/write'
  await store.putSetting(name, String(systemClock.now()))
  await store.putSetting(name, undefined)
  return { name: 'writing', verdict: 'ok', found: 'the store takes writes' }
}

async function overdueFinding(store: Store): Promise<Finding> {
  const untilExclusive = (await store.now()) - OVERDUE_MS
  const [count = 0] = await store.histogram({ fromInclusive: 0, untilExclusive, sliceMs: untilExclusive })
  const name = 'due timers'
  if (count === 0) return { name, verdict: 'ok', found: 'none has waited for longer than 10 s' }
  return {
    name,
    verdict: 'warn',
    found: `${count} have been due for longer than 10 s`,
    advice: 'start a server; if one runs: see /readyz, paused kinds, and kinds without a target',
  }
}

async function keyFinding(store: Store): Promise<Finding> {
  const keys = new ApiKeys(store, systemClock)
  await keys.look()
  const name = 'keys'
  if (keys.hasAlive) return { name, verdict: 'ok', found: `${keys.all.length} in the store` }
  return {
    name,
    verdict: 'warn',
    found: 'none that is alive',
    advice: 'the next carillon serve makes one and shows it once; or carillon keys create --store …',
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
    found: who === 'barred' ? nobodyThere.barred : 'something else listens there',
    advice: 'choose another --port for carillon serve',
  }
}

/** Who listens at a URL; 'barred' where `fetch` asks nobody at its port, 'nameless' where its name is not known. */
type Listener = 'carillon' | 'nobody' | 'other' | 'barred' | 'nameless'

const nobodyThere: Readonly<Record<Exclude<Listener, 'carillon'>, string>> = Object.freeze({
  nobody: 'none runs',
  other: 'what answers there is no Carillon server',
  barred: 'fetch and browsers refuse this port, whoever listens there',
  nameless: 'nobody knows a machine of that name',
})

async function listenerAt(url: string): Promise<Listener> {
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2000) })
    return (await response.text()) === '{"status":"alive"}' ? 'carillon' : 'other'
  } catch (error) {
    const { code, message } = (error as { cause?: { code?: string; message?: string } }).cause ?? {}
    if (code === 'ECONNREFUSED') return 'nobody'
    if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'nameless'
    // Of this `fetch` has no code.
    return message === 'bad port' ? 'barred' : 'other'
  }
}

async function* serverFindings(api: Api, key: unknown): AsyncGenerator<Finding> {
  const name = `server ${api.url}`
  const who = await listenerAt(api.url)
  if (who !== 'carillon') {
    const isBarred = who === 'barred'
    yield {
      name,
      verdict: isBarred ? 'fail' : 'warn',
      found: nobodyThere[who],
      advice: isBarred
        ? 'have the server listen on another port, and give that by --url'
        : 'timers fire while a server runs: carillon serve, or give --url',
    }
    return
  }
  const faults = await api.faults()
  yield faults.length === 0
    ? { name, verdict: 'ok', found: 'ready: what is due fires' }
    : { name, verdict: 'fail', found: faults.join('; '), advice: 'see its log, and docs/operations.md' }
  try {
    await api.call('GET', '/v1/kinds')
    yield { name: 'key', verdict: 'ok', found: 'the server lets it in' }
  } catch (error) {
    const isGiven = typeof key === 'string' && key !== ''
    yield { ...failed('key', error), ...(isGiven ? {} : { advice: 'put a key into CARILLON_KEY' }) }
  }
}

function failed(name: string, error: unknown): Finding {
  if (!(error instanceof CarillonError)) throw error
  return { name, verdict: 'fail', found: `${error.message} (${error.code})`, advice: errorCodes[error.code] }
}
