import { finding, type StoreSurvey } from '../survey.js'
import { textOf } from './answer-row.js'
import { types } from './database.js'
import { type ConnectionOptions, loadDriver, type PostgresClient } from './driver.js'
import { faultOf } from './fault.js'
import { migrations, readFormat } from './migrations.js'
import { postgresStoreOptions, takenApart } from './postgres-store-options.js'

/** Has a connection of its own for as long as it takes. A long one may take its time over each statement. */
export async function withConnection<Answer>(
  url: string,
  call: string,
  use: (client: PostgresClient, schema: string) => Promise<Answer>,
  { isLong = false }: { readonly isLong?: boolean } = {},
): Promise<Answer> {
  const { url: connectionString, ...ofUrl } = takenApart(url)
  const { schema, connectTimeoutMs, statementTimeoutMs } = postgresStoreOptions({}, ofUrl)
  const driver = await loadDriver()
  const options: ConnectionOptions = {
    connectionString,
    application_name: 'carillon',
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: isLong ? 0 : statementTimeoutMs,
    query_timeout: isLong ? 0 : statementTimeoutMs + 5000,
    keepAlive: true,
  }
  const client = new driver.Client(options)
  client.on('error', () => undefined)
  try {
    await client.connect()
  } catch (error) {
    throw faultOf(error, 'connecting', call)
  }
  try {
    return await use(client, schema)
  } catch (error) {
    throw faultOf(error, 'reading', call)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Looks at the server and at the schema, and changes neither. */
export async function surveyPostgres(url: string): Promise<StoreSurvey> {
  return await withConnection(url, 'survey', async (client, schema) => {
    const format = await readFormat(client, schema)
    const { rows } = await client.query({
      text: `select current_setting('fsync') as fsync, current_setting('full_page_writes') as pages,
        current_setting('synchronous_commit') as commit, current_setting('autovacuum') as vacuum,
        current_setting('server_version') as version,
        has_database_privilege(current_database(), 'CREATE')::text as may_create,
        pg_is_in_recovery()::text as is_replica`,
      types,
    })
    const of = (name: string): string => textOf(rows[0]!, name)
    const isWhole = of('fsync') === 'on' && of('pages') === 'on'
    const mayMake = format?.version === migrations.length || of('may_create') === 'true'
    const findings = [
      finding('server', `PostgreSQL ${of('version')}`, of('is_replica') === 'false', {
        verdict: 'fail',
        advice: 'this is a replica, which takes no writes: name the primary',
      }),
      finding('persistence', `fsync ${of('fsync')}, full_page_writes ${of('pages')}`, isWhole, {
        verdict: 'fail',
        advice: 'turn fsync and full_page_writes on: without them a power cut may damage the database',
      }),
      finding('commits', `synchronous_commit ${of('commit')}`, of('commit') !== 'off', {
        verdict: 'warn',
        advice:
          'turn synchronous_commit on: else the last acknowledged timers may be lost in a crash of the server',
      }),
      finding('autovacuum', of('vacuum'), of('vacuum') === 'on', {
        verdict: 'warn',
        advice: 'turn autovacuum on: rows that are done are left for it',
      }),
      finding('rights', mayMake ? 'enough' : 'no right to make a schema', mayMake, {
        verdict: 'fail',
        advice: 'grant create on the database, or let its owner run carillon migrate once',
      }),
    ]
    return { format, knownVersion: migrations.length, heldBy: undefined, findings }
  })
}
