import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import pg from 'pg'
import { startRunningPostgres } from '../postgres/running-server.js'
import { startOwnRedis } from '../../test/servers/redis.js'

/** The counters of a server since its start. */
export interface ServerCounts {
  /** PostgreSQL: statements from clients. Redis: commands, including those in scripts. */
  readonly operations: number
  /** Processor time of all its processes. Undefined where it cannot be read. */
  readonly cpuMs: number | undefined
  /** Redis: how often it began to rewrite its append-only file, and whether it is rewriting now. */
  readonly rewrites?: { readonly begun: number; readonly isUnderWay: boolean }
}

/** A server for one candidate, with its counters. */
export interface CountedServer {
  readonly url: string
  counts(): Promise<ServerCounts>
  stop(): Promise<void>
}

export type ServerKind = () => Promise<CountedServer>

/** PostgreSQL with its defaults: every commit is flushed. */
export const postgres: ServerKind = async () => {
  const server = await startRunningPostgres({ shared_preload_libraries: 'pg_stat_statements' })
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  await client.query('create extension if not exists pg_stat_statements')
  return {
    url: server.url,
    async counts() {
      const { rows } = await client.query<{ calls: string }>(
        'select coalesce(sum(calls), 0) as calls from pg_stat_statements where toplevel',
      )
      return { operations: Number(rows[0]!.calls), cpuMs: cpuMsOf(server.pid!, true) }
    },
    async stop() {
      await client.end()
      await server.stop()
    },
  }
}

function redisKind(settings: readonly string[], query: string): ServerKind {
  return async () => {
    const server = await startOwnRedis(settings)
    return {
      url: server.url + query,
      counts() {
        const info = server.process.cli('info')
        const numberOf = (name: string): number => Number(new RegExp(`${name}:(\\d+)`).exec(info)?.[1])
        return Promise.resolve({
          operations: numberOf('total_commands_processed'),
          cpuMs: cpuMsOf(server.process.pid, false),
          rewrites: {
            begun: numberOf('aof_rewrites'),
            isUnderWay: numberOf('aof_rewrite_in_progress') === 1,
          },
        })
      },
      stop: () => server.stop(),
    }
  }
}

/** Redis with its append-only file flushed every second. */
export const redis = redisKind([], '')
export const volatileRedis = redisKind(['--appendonly', 'no'], '?allow=no-aof')

/** Includes the children: PostgreSQL has a process per connection, and adds up those that have ended. */
function cpuMsOf(pid: number, hasChildren: boolean): number | undefined {
  try {
    const children = hasChildren
      ? execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
          .trim()
          .split(/\s+/)
      : []
    const ticks = children.reduce((sum, child) => sum + ticksOf(child, false), ticksOf(String(pid), true))
    return ticks * 10
  } catch {
    return undefined
  }
}

function ticksOf(pid: string, withEnded: boolean): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return fields.slice(11, withEnded ? 15 : 13).reduce((sum, field) => sum + Number(field), 0)
  } catch (error) {
    // A child may have exited since it was listed.
    if (withEnded) throw error
    return 0
  }
}
