// npm run compat [-- options]: packs the package, installs it into temporary folders, and tries it there with every
// package manager, version of Node.js, driver and bundler that it supports. Needs the network and redis-server.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { combinationsOf, nodeMajors } from './compat/combinations.mjs'
import { Project } from './compat/project.mjs'
import { runnable } from './ready.mjs'

const usage = `usage: npm run compat -- [options]

  --only words    only combinations whose group or name contains one of these words, such as: bundlers,redis@5
  --list          print the combinations and try none
  --minutes 60    start no further combination after this time, and fail
  --step 300      how many seconds one command may take
  --help          print this

Groups: install, drivers, server, bundlers, types, orm, nest, runtimes. Exits with 1 if a combination does not work.
`

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    list: { type: 'boolean' },
    minutes: { type: 'string', default: '60' },
    step: { type: 'string', default: '300' },
    help: { type: 'boolean', short: 'h' },
  },
})
if (values.help) {
  process.stdout.write(usage)
  process.exit()
}
const words = values.only?.split(',')
const isWanted = ({ group, name }) => words?.some((word) => `${group} ${name}`.includes(word)) ?? true
const folder = mkdtempSync(path.join(os.tmpdir(), 'carillon-compat-'))
const setup = { tools: {}, nodes: {}, stepMs: Number(values.step) * 1000 }
const servers = {}
let made = 0
const context = {
  folder,
  setup,
  tarball: '',
  urls: {
    redis: () => storeOn('redis', 'prefix'),
    postgres: () => storeOn('postgres', 'schema'),
    server: () => servers.postgres.url,
  },
  withProject: (options, attempt) => {
    const project = new Project(path.join(folder, `project-${++made}`), setup, options)
    try {
      attempt(project)
    } finally {
      project.remove()
    }
  },
}
const combinations = combinationsOf(context).filter((each) => isWanted(each))
if (values.list) {
  for (const { group, name } of combinations) process.stdout.write(`${group}: ${name}\n`)
  rmSync(folder, { recursive: true })
  process.exit()
}
if (combinations.length === 0) {
  process.stderr.write(`compat: no combination contains ${values.only}; --list prints all\n`)
  process.exit(1)
}

const failures = []
try {
  await prepare()
  const endAt = Date.now() + Number(values.minutes) * 60_000
  for (const [index, { group, name, attempt }] of combinations.entries()) {
    const began = Date.now()
    if (began > endAt) {
      failures.push(
        `${combinations.length - index} combinations were not tried within ${values.minutes} minutes`,
      )
      break
    }
    let failure
    try {
      attempt()
    } catch (error) {
      failure = error
      failures.push(`${group}: ${name}`)
    }
    const seconds = ((Date.now() - began) / 1000).toFixed(1)
    const verdict = failure === undefined ? 'ok' : `FAILED: ${failure.message}`
    say(`${index + 1} of ${combinations.length}, ${group}: ${name} (${seconds} s) ${verdict}`)
  }
} finally {
  for (const server of Object.values(servers)) await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
for (const failure of failures) say(`failed: ${failure}`)
say(failures.length === 0 ? `all ${combinations.length} combinations work` : `${failures.length} failed`)
process.exitCode = failures.length === 0 ? 0 : 1

/** Packs the package, installs the package managers and versions of Node.js, and starts the servers that are needed. */
async function prepare() {
  await runnable()
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const packed = execFileSync('npm', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  context.tarball = path.join(folder, JSON.parse(packed)[0].filename)
  const isNeeded = (word) => combinations.some(({ group, name }) => `${group}: ${name}`.includes(word))
  const nodes = nodeMajors.filter((major) => !isRunning(major) && isNeeded(`Node.js ${major}`))
  const nodePackage = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  say('installing package managers and versions of Node.js')
  const tools = new Project(path.join(folder, 'tools'), setup)
  tools.run('npm', [
    'install',
    '--no-audit',
    '--no-fund',
    'pnpm@12',
    'yarn1@npm:yarn@1',
    '@yarnpkg/cli-dist@4',
    ...nodes.map((major) => `node${major}@npm:${nodePackage}@${major}`),
  ])
  const modules = path.join(folder, 'tools', 'node_modules')
  Object.assign(setup.tools, {
    pnpm: path.join(modules, 'pnpm/bin/pnpm.mjs'),
    yarn1: path.join(modules, 'yarn1/bin/yarn.js'),
    yarn4: path.join(modules, '@yarnpkg/cli-dist/bin/yarn.js'),
  })
  for (const major of nodeMajors) {
    setup.nodes[major] = isRunning(major)
      ? path.dirname(process.execPath)
      : path.join(modules, `node${major}`, 'bin')
  }
  const needsServers = ['drivers', 'with pg and redis', 'orm:', 'runtimes:'].some((word) => isNeeded(word))
  if (!needsServers) return
  say('starting PostgreSQL and Redis')
  servers.redis = await (await import('../.carillon/run/test/servers/redis.js')).startRedis()
  servers.postgres = await (await import('../.carillon/run/test/servers/postgres.js')).startPostgres()
}

function isRunning(major) {
  return Number(process.versions.node.split('.')[0]) === major
}

/** The URL of a new store on a server. */
function storeOn(kind, parameter) {
  return `${servers[kind].url}?${parameter}=compat_${++made}`
}

function say(text) {
  process.stderr.write(`compat: ${text}\n`)
}
