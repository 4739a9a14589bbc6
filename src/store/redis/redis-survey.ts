import { finding, type Finding, type StoredFormat, type StoreSurvey } from '../survey/survey.js'
import { FORMAT_VERSION } from './format.js'
import { storeKey } from './keys.js'
import { RedisNodes, type ServerReport } from './net/nodes.js'
import { redisStoreOptions } from './redis-store-options.js'
import { parseRedisUrl } from './net/redis-url.js'

/** Inspects the servers and the store's format. Changes nothing. */
export async function surveyRedis(url: string): Promise<StoreSurvey> {
  const target = parseRedisUrl(url)
  const nodes = await RedisNodes.open(await redisStoreOptions({}).loadDriver(), target)
  try {
    const key = storeKey(target.prefix)
    const reply = await nodes.call(key, ['HMGET', key, 'format', 'version', 'shards', 'strategy'])
    const reports = await nodes.reports()
    return {
      format: formatOf(reply as (Buffer | null)[]),
      knownVersion: FORMAT_VERSION,
      heldBy: undefined,
      findings: reports.flatMap(findingsOf),
    }
  } finally {
    nodes.close()
  }
}

function formatOf(reply: readonly (Buffer | null)[]): StoredFormat | undefined {
  const [format, version, shards, strategy] = reply.map((text) => String(text ?? ''))
  if (format !== 'carillon') return undefined
  return {
    version: Number(version),
    shardCount: Number(shards),
    strategy: strategy as StoredFormat['strategy'],
  }
}

function findingsOf({ info, flushing }: ServerReport): StoreSurvey['findings'] {
  const infoField = (name: string): string => new RegExp(`^${name}:(\\S*)`, 'm').exec(info)?.[1] ?? 'unknown'
  const version = infoField('redis_version')
  const hasFile = infoField('aof_enabled') === '1'
  return [
    finding('server', `Redis ${version}`, Number.parseInt(version, 10) >= 7, {
      verdict: 'fail',
      advice: 'upgrade Redis to 7 or later',
    }),
    finding('persistence', hasFile ? 'append-only file on' : 'no append-only file', hasFile, {
      verdict: 'fail',
      advice: 'set appendonly yes, or open the store with ?allow=no-aof if timers may be lost',
    }),
    flushFinding(hasFile, flushing),
    finding('eviction', infoField('maxmemory_policy'), infoField('maxmemory_policy') === 'noeviction', {
      verdict: 'fail',
      advice:
        'set maxmemory-policy noeviction, or open the store with ?allow=eviction if timers may be deleted',
    }),
    finding(
      'last write of the file',
      infoField('aof_last_write_status'),
      !hasFile || infoField('aof_last_write_status') === 'ok',
      {
        verdict: 'fail',
        advice: 'check the disk of the Redis server: it cannot write',
      },
    ),
  ]
}

function flushFinding(hasFile: boolean, flushing: ServerReport['flushing']): Finding {
  const name = 'flushing'
  if (!hasFile) return { name, verdict: 'ok', found: 'nothing to flush' }
  const how = flushing?.get('appendfsync')
  if (how === undefined) {
    return {
      name,
      verdict: 'warn',
      found: 'unknown: the server does not allow CONFIG GET',
      advice: 'make sure that appendfsync is everysec or always, and no-appendfsync-on-rewrite is no',
    }
  }
  const onRewrite = flushing?.get('no-appendfsync-on-rewrite') ?? 'no'
  const found = `appendfsync ${how}, no-appendfsync-on-rewrite ${onRewrite}`
  return finding(name, found, how !== 'no' && onRewrite === 'no', {
    verdict: 'fail',
    advice:
      'set appendfsync everysec or always, and no-appendfsync-on-rewrite no: otherwise a power loss loses more than two seconds of writes',
  })
}
