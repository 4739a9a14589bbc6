import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { type PostgresServer, startPostgres } from './postgres.js'

const LOCALE = 'de_DE.UTF-8'

export const GERMAN_ADVICE =
  'install PostgreSQL with translated messages, and the sources of locales (Debian: apt-get install postgresql locales)'

/** The folder of a PostgreSQL with German messages, as Debian's packages have them; undefined without one. */
export function germanBinaries(): string | undefined {
  const versions = '/usr/lib/postgresql'
  const bins = existsSync(versions)
    ? readdirSync(versions).map((version) => path.join(versions, version, 'bin'))
    : []
  const given = process.env['CARILLON_TEST_POSTGRES_BIN'] ?? ''
  return [...(given === '' ? [] : [given]), ...bins].find(
    (bin) => existsSync(path.join(bin, 'postgres')) && hasMessages(bin) && canMakeLocale(),
  )
}

/** Starts PostgreSQL with German messages. The locale is made in a temporary folder, not on the machine. */
export async function startGermanPostgres(
  binaries: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  const folder = mkdtempSync(path.join(tmpdir(), 'carillon-locale-'))
  execFileSync('chmod', ['755', folder])
  execFileSync('localedef', ['-i', 'de_DE', '-f', 'UTF-8', path.join(folder, LOCALE)])
  const server = await startPostgres({
    binaries,
    environment: { ...environment, LOCPATH: folder },
    settings: { lc_messages: LOCALE },
  })
  return {
    url: server.url,
    pid: server.pid,
    restart: () => server.restart(),
    crash: () => server.crash(),
    stop: async () => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function hasMessages(bin: string): boolean {
  const major = path.basename(path.dirname(bin))
  return existsSync(`/usr/share/locale/de/LC_MESSAGES/postgres-${major}.mo`)
}

function canMakeLocale(): boolean {
  if (!existsSync('/usr/share/i18n/locales/de_DE')) return false
  try {
    execFileSync('localedef', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
