import { finding, type StoredFormat, type StoreSurvey } from '../survey.js'
import { FORMAT_VERSION } from './format.js'
import { storeKey } from './keys.js'
import { RedisNodes } from './nodes.js'
import { redisStoreOptions } from './redis-store-options.js'
import { parseRedisUrl } from './redis-url.js'

/** Looks at the servers and at what the store says of itself, and changes nothing. */
export async function surveyRedis(url: string): Promise<StoreSurvey> {
  const target = parseRedisUrl(url)
  const nodes = await RedisNodes.open(await redisStoreOptions({}).loadDriver(), target)
  try {
    const key = storeKey(target.prefix)
    const reply = await nodes.call(key, ['HMGET', key, 'format', 'version', 'shards', 'strategy'])
    const infos = await nodes.infos()
    return {
      format: formatOf(reply as (Buffer | null)[]),
      knownVersion: FORMAT_VERSION,
      heldBy: undefined,
      findings: infos.flatMap(findingsOf),
    }
  } finally {
    nodes.end()
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

function findingsOf(info: string): StoreSurvey['findings'] {
  const of = (name: string): string => new RegExp(`^${name}:(\\S*)`, 'm').exec(info)?.[1] ?? 'unknown'
  const version = of('redis_version')
  const hasFile = of('aof_enabled') === '1'
  return [
    finding('server', `Redis ${version}`, Number.parseInt(version, 10) >= 7, {
      verdict: 'fail',
      advice: 'upgrade Redis to 7 or later',
    }),
    finding('persistence', hasFile ? 'append-only file on' : 'no append-only file', hasFile, {
      verdict: 'fail',
      advice: 'set appendonly yes, or open the store with ?allow=no-aof if timers may be lost',
    }),
    finding('eviction', of('maxmemory_policy'), of('maxmemory_policy') === 'noeviction', {
      verdict: 'fail',
      advice:
        'set maxmemory-policy noeviction, or open the store with ?allow=eviction if timers may be thrown away',
    }),
    finding(
      'last write of the file',
      of('aof_last_write_status'),
      !hasFile || of('aof_last_write_status') === 'ok',
      {
        verdict: 'fail',
        advice: 'look at the disk of the Redis server: it cannot write',
      },
    ),
  ]
}
