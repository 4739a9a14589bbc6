import { InvalidInputError, shown } from '../../../error/index.js'
import type { Command } from '../../command.js'
import { apiCommand, type CommandContext } from '../api-command.js'
import { jsonOption } from '../options.js'

interface TargetBody {
  readonly kind: string
  readonly type: string
  readonly version: number
  readonly url?: string
  readonly secretIds?: readonly string[]
}

/** Targets: where the timers of a kind go. */
export const targets: Command = apiCommand({
  name: 'targets',
  usage: "[list | get <kind> | set <kind> '<json>' | remove <kind>]",
  summary: 'List, set and remove targets: where the timers of a kind go.',
  options: {},
  help: [['', 'Secrets are never shown. A webhook that is set again without `secret` keeps its secrets.']],
  examples: [
    'carillon targets',
    'carillon targets set remind \'{"type":"webhook","url":"https://example.org/remind"}\'',
    'carillon targets remove remind',
  ],
  positionals: [0, 3],
  execute: async (context) => {
    const [verb = 'list', kind, json, ...rest] = context.positionals
    const { api } = context
    const path = `/v1/targets/${encodeURIComponent(kind ?? '')}`
    const count = (kind === undefined ? 0 : 1) + (json === undefined ? 0 : 1) + rest.length
    if (verb === 'list' && count === 0) {
      const answer = await api.call<{ targets: TargetBody[] }>('GET', '/v1/targets')
      for (const target of answer.targets) show(context, target)
      return undefined
    }
    if (verb === 'get' && count === 1) {
      show(context, await api.call<TargetBody>('GET', path))
      return undefined
    }
    if (verb === 'set' && count === 2) {
      show(context, await api.call<TargetBody>('PUT', path, jsonOption('a target', json!)))
      return undefined
    }
    if (verb === 'remove' && count === 1) {
      context.print(await api.call('DELETE', path), 'removed')
      return undefined
    }
    throw new InvalidInputError(
      'invalid-option',
      `targets takes list, get <kind>, set <kind> <json> or remove <kind>, got ${shown(context.positionals.join(' '))}`,
    )
  },
})

function show({ print }: CommandContext, target: TargetBody): void {
  const { kind, type, url, secretIds = [], version } = target
  const where = url === undefined ? '' : ` ${url}`
  const signed = secretIds.length === 0 ? '' : `, secrets ${secretIds.join(', ')}`
  print(target, `${kind}  ${type}${where} (version ${version}${signed})`)
}
