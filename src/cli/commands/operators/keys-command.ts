import { InvalidInputError, shown } from '../../../error/index.js'
import type { ApiKey, ApiKeys, AuditLog, NewApiKey, Scope } from '../../../server/index.js'
import { systemClock } from '../../../time/index.js'
import { ApiClient, apiHelp, apiOptions } from '../../api-client.js'
import { instantText } from '../api-command.js'
import { type Arguments, type Command, exitCodes, stringOption, type Terminal } from '../../command.js'

/** The keys of a server, or of a store that no server has open. */
interface KeyRing {
  list(): Promise<readonly ApiKey[]>
  create(wanted: NewApiKey): Promise<{ readonly key: ApiKey; readonly token: string }>
  revoke(id: string): Promise<void>
}

export const keys: Command = {
  name: 'keys',
  usage: '(list | create | revoke <id>) [options]',
  summary: 'Make, list and revoke the API keys of a server.',
  options: {
    ...apiOptions,
    name: stringOption,
    scope: stringOption,
    'bound-to': stringOption,
    expires: stringOption,
  },
  help: [
    ['--name', 'its purpose; two keys of one name may be active'],
    ['--scope', 'read, write or admin (write)'],
    ['--bound-to', 'the only namespace that it opens (all)'],
    ['--expires', "when it expires, from now: '90d' (never)"],
    ...apiHelp,
  ],
  examples: [
    'carillon keys create --name billing --scope write --bound-to billing --expires 90d',
    'carillon keys create --name first --scope admin --store file:./carillon-data',
    'carillon keys revoke 525d022a0fa8',
  ],
  positionals: [1, 2],
  run: async (given, terminal) => {
    const { store } = given.values
    if (typeof store !== 'string')
      return await runVerb(ringOfServer(new ApiClient(given, terminal)), given, terminal)
    const { openStore } = await import('../../../store/index.js')
    const server = await import('../../../server/index.js')
    const opened = await openStore(store)
    try {
      const ring = ringOfStore(
        new server.ApiKeys(opened, systemClock),
        new server.AuditLog(opened, systemClock),
      )
      return await runVerb(ring, given, terminal)
    } finally {
      await opened.stop()
    }
  },
}

async function runVerb(ring: KeyRing, given: Arguments, terminal: Terminal): Promise<number> {
  const [verb, id] = given.positionals
  const say = (value: unknown, forPeople: string): void =>
    terminal.out(`${given.values['json'] === true ? JSON.stringify(value) : forPeople}\n`)
  if (verb === 'list' && id === undefined) {
    for (const key of await ring.list()) say(key, lineOf(key))
    return exitCodes.done
  }
  if (verb === 'create' && id === undefined) {
    const made = await ring.create(wantedOf(given))
    say(made, `${lineOf(made.key)}\nthe token is shown only now:\n${made.token}`)
    return exitCodes.done
  }
  if (verb === 'revoke' && id !== undefined) {
    await ring.revoke(id)
    say({ outcome: 'revoked' }, 'revoked')
    return exitCodes.done
  }
  throw new InvalidInputError(
    'invalid-option',
    `keys takes list, create, or revoke <id>, got ${shown(given.positionals.join(' '))}`,
  )
}

function wantedOf({ values }: Arguments): NewApiKey {
  const { name, scope = 'write', expires, 'bound-to': namespace } = values
  if (typeof name !== 'string')
    throw new InvalidInputError('invalid-option', 'missing --name: every key has one')
  // It would choose where the request goes, and the key would open all namespaces.
  if (values['namespace'] !== undefined)
    throw new InvalidInputError(
      'invalid-option',
      'a key is bound to a namespace with --bound-to, not with --namespace',
    )
  return {
    name,
    scope: scope as Scope,
    ...(typeof namespace === 'string' && { namespace }),
    ...(typeof expires === 'string' && { expiresIn: expires }),
  }
}

function ringOfServer(api: ApiClient): KeyRing {
  return {
    list: async () => (await api.call<{ keys: ApiKey[] }>('GET', '/v1/keys')).keys,
    create: async (wanted) => await api.call('POST', '/v1/keys', wanted),
    revoke: async (id) => void (await api.call('DELETE', `/v1/keys/${encodeURIComponent(id)}`)),
  }
}

/** The keys of a store. Its changes go to the audit log as those of no key. */
function ringOfStore(ring: ApiKeys, audit: AuditLog): KeyRing {
  const record = (action: string, subject: string, namespace?: string): Promise<void> =>
    audit.record({
      action,
      subject,
      outcome: 'done',
      ...(namespace !== undefined && { namespace }),
      key: { id: 'none', name: 'carillon keys --store' },
      from: 'the command line',
    })
  return {
    list: async () => {
      await ring.refresh()
      return ring.all
    },
    create: async (wanted) => {
      const made = await ring.create(wanted)
      await record('keys.create', made.key.id, wanted.namespace)
      return made
    },
    revoke: async (id) => {
      await ring.revoke(id)
      await record('keys.revoke', id)
    },
  }
}

function lineOf({ id, name, scope, namespace, expiresAt }: ApiKey): string {
  const where = namespace === undefined ? 'all namespaces' : `namespace ${namespace}`
  const until = expiresAt === undefined ? '' : `, until ${instantText(expiresAt)}`
  return `${id}  ${name}: ${scope}, ${where}${until}`
}
