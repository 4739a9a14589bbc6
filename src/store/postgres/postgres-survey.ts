import { finding, type StoreSurvey } from '../survey/survey.js'
import { stringOf } from './codec/answer-row.js'
import { columnTypes } from './net/database.js'
import { migrations, readFormat } from './schema/migrations.js'
import { withConnection } from './with-connection.js'

/** Checks the server and the schema. Changes neither. */
export async function surveyPostgres(url: string): Promise<StoreSurvey> {
  return await withConnection(url, 'survey', async (client, schema) => {
    const format = await readFormat(client, schema)
    const { rows } = await client.query({
      text: `select current_setting('fsync') as fsync, current_setting('full_page_writes') as pages,
        (select reset_val from pg_settings where name = 'synchronous_commit') as commit, current_setting('autovacuum') as vacuum,
        current_setting('server_version') as version,
        has_database_privilege(current_database(), 'CREATE')::text as may_create,
        pg_is_in_recovery()::text as is_replica`,
      types: columnTypes,
    })
    const setting = (name: string): string => stringOf(rows[0]!, name)
    const isCrashSafe = setting('fsync') === 'on' && setting('pages') === 'on'
    const mayCreate = format?.version === migrations.length || setting('may_create') === 'true'
    const findings = [
      finding('server', `PostgreSQL ${setting('version')}`, setting('is_replica') === 'false', {
        verdict: 'fail',
        advice: 'this is a replica, which takes no writes: use the URL of the primary',
      }),
      finding('persistence', `fsync ${setting('fsync')}, full_page_writes ${setting('pages')}`, isCrashSafe, {
        verdict: 'fail',
        advice:
          'turn fsync and full_page_writes on: without them a power loss may damage the database, and a store opens only with ?allow=no-fsync,no-full-page-writes',
      }),
      finding('commits', `synchronous_commit ${setting('commit')}`, setting('commit') !== 'off', {
        verdict: 'warn',
        advice:
          'turn synchronous_commit on: Carillon sets it for its own connections, but a crash of the server may lose timers that you set in your own transactions',
      }),
      finding('autovacuum', setting('vacuum'), setting('vacuum') === 'on', {
        verdict: 'warn',
        advice: 'turn autovacuum on: it removes the space of deleted rows',
      }),
      finding('rights', mayCreate ? 'enough' : 'no right to create a schema', mayCreate, {
        verdict: 'fail',
        advice: 'grant create on the database, or run carillon migrate once as its owner',
      }),
    ]
    return { format, knownVersion: migrations.length, heldBy: undefined, findings }
  })
}
