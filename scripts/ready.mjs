// Prepares the clone for a command: installs packages, builds the library and the page, compiles benches and examples. Each step
// writes a stamp with the hash of its inputs, and is skipped while they do not change. Each step holds a lock, so that two
// commands that start together do not disturb each other.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

const root = fileURLToPath(new URL('..', import.meta.url))
const state = path.join(root, '.carillon')
const installStamp = path.join(root, 'node_modules', '.carillon-stamp')

/** Makes sure that node_modules has the packages of the lock file. */
export async function installed() {
  const wanted = digest(['package.json', 'dashboard/package.json', 'package-lock.json'])
  if (stampOf(installStamp) === wanted) return
  await locked(() => {
    if (stampOf(installStamp) === wanted) return
    if (isInstalledByHand()) {
      writeFileSync(installStamp, wanted)
      return
    }
    say('installing packages (npm ci)')
    run('npm', ['ci', '--no-audit', '--no-fund'], { shell: process.platform === 'win32' })
    writeFileSync(installStamp, wanted)
  })
}

/** Makes sure that dist/ has the compiled library, so that every subpath export resolves, and the page. */
export async function built() {
  await installed()
  await compiled('library', 'dist', 'tsconfig.build.json', ['src'])
  await bundled()
}

/** Makes sure that .carillon/run/ has the programs that import the library by its name: benches, examples, chaos. */
export async function runnable() {
  await built()
  const sources = [
    'src',
    'bench',
    'examples',
    'test/store/chaos',
    'test/store/power',
    'test/engine/chaos',
    'test/store/postgres/chaos',
    'test/parallel',
    'test/servers',
    'test/schedule/hunt',
  ]
  await compiled('benches and examples', '.carillon/run', 'tsconfig.run.json', sources)
}

/** Runs a program. If its exit code is not 0, ends this process with the same code. */
export function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: 'inherit', ...options })
  if (result.error) throw result.error
  if (result.status !== 0) process.exit(result.status ?? 1)
}

/** The path of a package's command, to run with the current Node. */
export function tool(packageName, bin) {
  return path.join(root, 'node_modules', packageName, bin)
}

async function compiled(what, outDir, project, sources) {
  const stamp = path.join(state, `${path.basename(project)}.stamp`)
  const wanted = digest([...sources, project, 'tsconfig.base.json', 'package-lock.json'])
  const out = path.join(root, outDir)
  const fresh = () => stampOf(stamp) === wanted && existsSync(out)
  if (fresh()) return
  await locked(() => {
    if (fresh()) return
    say(`building the ${what}`)
    // Compile beside the old output, then replace it. So no renamed module is left over, and a running program finds
    // the old output complete until the new one is ready.
    const [next, last] = [path.join(state, 'next'), path.join(state, 'last')]
    for (const folder of [next, last]) rmSync(folder, { recursive: true, force: true })
    run(process.execPath, [tool('typescript', 'bin/tsc'), '-p', project, '--outDir', next])
    rmSync(stamp, { force: true })
    if (existsSync(out)) renameSync(out, last)
    renameSync(next, out)
    rmSync(last, { recursive: true, force: true })
    writeFileSync(stamp, wanted)
  })
}

/**
 * Makes sure that dist/page has the web page. It is built in .carillon/page, because a build of the library replaces
 * dist/ as a whole.
 */
async function bundled() {
  const stamp = path.join(state, 'page.stamp')
  const [fresh, out] = [path.join(state, 'page'), path.join(root, 'dist', 'page')]
  const outStamp = path.join(out, 'stamp.txt')
  // The page uses the client and the checks of schedules.
  const wanted = digest(['dashboard', 'src/client', 'src/error', 'src/time', 'package-lock.json'])
  if (stampOf(outStamp) === wanted) return
  await locked(() => {
    if (stampOf(outStamp) === wanted) return
    if (stampOf(stamp) !== wanted || !existsSync(fresh)) {
      say('building the page')
      run(process.execPath, [tool('vite', 'bin/vite.js'), 'build', 'dashboard', '--logLevel', 'warn'])
      say(sizesOf(fresh))
      writeFileSync(stamp, wanted)
    }
    const next = path.join(state, 'next-page')
    rmSync(next, { recursive: true, force: true })
    cpSync(fresh, next, { recursive: true })
    writeFileSync(path.join(next, 'stamp.txt'), wanted)
    rmSync(out, { recursive: true, force: true })
    renameSync(next, out)
  })
}

/** What a browser loads, file by file. test/page/size.test.ts holds the limit. */
function sizesOf(folder) {
  const files = [
    'index.html',
    ...readdirSync(path.join(folder, 'assets'))
      .toSorted()
      .map((name) => `assets/${name}`),
  ]
  const sizes = files.map((file) => [file, gzipSync(readFileSync(path.join(folder, file))).length])
  const sum = sizes.reduce((total, [, size]) => total + size, 0)
  const kilobytes = (size) => `${(size / 1000).toFixed(1)} kB`
  return `the page has ${kilobytes(sum)} gzipped: ${sizes.map(([file, size]) => `${file} ${kilobytes(size)}`).join(', ')}`
}

function digest(entries) {
  const hash = createHash('sha256')
  for (const entry of entries) add(path.join(root, entry))
  return hash.digest('hex')

  function add(file) {
    // Packages that benches install for their peers are no inputs of ours.
    if (!existsSync(file) || path.basename(file) === 'node_modules') return
    if (statSync(file).isDirectory()) {
      for (const name of readdirSync(file).toSorted()) add(path.join(file, name))
      return
    }
    hash.update(path.relative(root, file)).update('\0').update(readFileSync(file)).update('\0')
  }
}

/** Whether `npm ci` was run by hand: npm leaves a list of what it installed. */
function isInstalledByHand() {
  const list = stampOf(path.join(root, 'node_modules', '.package-lock.json'))
  if (list === undefined) return false
  const present = JSON.parse(list).packages
  const wanted = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')).packages
  return Object.entries(wanted).every(
    ([name, { version, optional }]) => name === '' || optional || present[name]?.version === version,
  )
}

function stampOf(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

async function locked(work) {
  mkdirSync(state, { recursive: true })
  const lock = path.join(state, 'lock')
  const claim = path.join(state, `lock.${process.pid}`)
  for (;;) {
    try {
      // Written first and then linked, so that a lock always contains the process id of its owner.
      writeFileSync(claim, String(process.pid))
      linkSync(claim, lock)
      break
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
      if (!isAlive(Number(stampOf(lock) ?? process.pid))) rmSync(lock, { force: true })
      else await sleep(200)
    } finally {
      rmSync(claim, { force: true })
    }
  }
  const release = () => rmSync(lock, { force: true })
  // run() may end the process while the lock is held.
  process.once('exit', release)
  try {
    work()
  } finally {
    process.removeListener('exit', release)
    release()
  }
}

function isAlive(pid) {
  if (!(pid > 0)) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function say(text) {
  process.stderr.write(`carillon: ${text}\n`)
}
