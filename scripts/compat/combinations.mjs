// Every combination that is tried. Each has a group, a name, and a function that throws if it does not work.
import { cpSync } from 'node:fs'
import path from 'node:path'
import { Project } from './project.mjs'
import { stacksOf } from './stacks.mjs'
import { firing, refusing, rollupConfig, serving, typed, webpackConfig } from './programs.mjs'

const managers = ['npm', 'pnpm', 'yarn1', 'yarn4']
export const nodeMajors = [20, 22, 24]

/** Versions of drivers from the last years, the oldest and the newest of each line. */
const redisVersions = ['4.0', '4.7', '5.0', '5.1', '5.8', '5.12', '6.0', '6']
const pgVersions = ['8.0', '8.7', '8.11', '8.16', '8']

// Users of files only have these in their tree. None may keep npm from installing.
const neighbours = ['redis@3', 'pg@7', 'lmdb@2', 'fastify@4', 'pino@8', '@opentelemetry/api@1.4']

const serverPackages = ['fastify@5', '@sinclair/typebox@0.34', 'pino@10']
const PIN_FOR_NODE_20 = 'light-my-request@6.6.0'

const LMDB = 'lmdb@3.5'
const driverPackages = ['pg@8', 'redis@6']
const bundlers = {
  esbuild: {
    packages: ['esbuild@0.28'],
    build: (project) =>
      project.run('node_modules/.bin/esbuild', [
        'program.mjs',
        '--bundle',
        '--platform=node',
        '--format=esm',
        '--outfile=out/bundle.mjs',
        // Packages in CommonJS call \`require\`, which an ES module must make itself.
        "--banner:js=import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
      ]),
  },
  rollup: {
    packages: [
      'rollup@4',
      '@rollup/plugin-commonjs@29',
      '@rollup/plugin-json@6',
      '@rollup/plugin-node-resolve@16',
    ],
    build: (project) => {
      project.write('rollup.config.mjs', rollupConfig)
      return project.run('node_modules/.bin/rollup', ['-c', 'rollup.config.mjs'])
    },
  },
  webpack: {
    packages: ['webpack@5', 'webpack-cli@6'],
    build: (project) => {
      project.write('webpack.config.mjs', webpackConfig)
      return project.run('node_modules/.bin/webpack', ['-c', 'webpack.config.mjs'])
    },
  },
}

/** All combinations. `context` has the tarball, a function for new projects, and the URLs of the servers. */
export function combinationsOf(context) {
  return [
    ...nodeMajors.flatMap((node) => managers.map((manager) => library(context, manager, node))),
    beside(context, neighbours),
    ...nodeMajors.flatMap((node) => managers.map((manager) => file(context, manager, node))),
    ...redisVersions.map((version) => redis(context, version)),
    ...pgVersions.map((version) => postgres(context, version)),
    ...nodeMajors.flatMap((node) => managers.map((manager) => server(context, manager, node))),
    ...Object.keys(bundlers).flatMap((name) => [bundle(context, name, false), bundle(context, name, true)]),
    oldResolution(context),
    ...stacksOf(context, { combination, expectPrinted }),
  ]
}

function library(context, manager, node) {
  return combination('install', `${manager} on Node.js ${node}`, context, { manager, node }, (project) => {
    project.add(context.tarball)
    expectPrinted(project.evaluate(firing('memory:')), 'fired')
    expectPrinted(project.evaluate(refusing('file:./timers')), 'driver-missing')
    const output = project.run('node', ['node_modules/carillon/dist/cli/main.js', 'serve'], { mayFail: true })
    expectPrinted(output, '(package-missing)')
  })
}

function beside(context, packages) {
  return combination('install', `beside ${packages.join(', ')}`, context, {}, (project) => {
    project.add(context.tarball, ...packages)
    expectPrinted(project.evaluate(firing('memory:')), 'fired')
    expectPrinted(project.evaluate(refusing('file:./timers')), 'driver-unsupported')
    expectPrinted(project.evaluate(refusing('redis://127.0.0.1:1')), 'driver-unsupported')
    expectPrinted(project.run('node', ['--input-type=module', '-e', serving], { mayFail: true }), 'package-')
  })
}

function file(context, manager, node) {
  const name = `lmdb by ${manager} on Node.js ${node}`
  // pnpm fails if a package has an install script that the project neither allows nor refuses. It works without.
  const refusal = 'allowBuilds:\n  lmdb: false\n  msgpackr-extract: false\n'
  // As in the overrides of this repository: not every registry has all binaries of the newest version, and Yarn wants
  // them all.
  const manifest = manager.startsWith('yarn') ? { resolutions: { 'msgpackr-extract': '3.0.4' } } : {}
  return combination('drivers', name, context, { manager, node, manifest }, (project) => {
    if (manager === 'pnpm') project.write('pnpm-workspace.yaml', refusal)
    project.add(context.tarball, LMDB)
    expectPrinted(project.evaluate(firing('file:./timers')), 'fired')
  })
}

function redis(context, version) {
  return combination('drivers', `redis@${version}`, context, {}, (project) => {
    project.add(context.tarball, `redis@${version}`)
    const isOld = version.startsWith('4.') || version === '5.0'
    const url = context.urls.redis()
    expectPrinted(
      project.evaluate(isOld ? refusing(url) : firing(url)),
      isOld ? 'driver-unsupported' : 'fired',
    )
  })
}

function postgres(context, version) {
  return combination('drivers', `pg@${version}`, context, {}, (project) => {
    project.add(context.tarball, `pg@${version}`)
    expectPrinted(project.evaluate(firing(context.urls.postgres())), 'fired')
  })
}

function server(context, manager, node) {
  const pin = node < 22 ? [PIN_FOR_NODE_20] : []
  // Yarn 1 takes the newest version of an indirect dependency, whatever the project itself depends on.
  const needsResolution = manager === 'yarn1' && pin.length > 0
  const manifest = needsResolution ? { resolutions: { 'light-my-request': '6.6.0' } } : {}
  const name = `${manager} on Node.js ${node}`
  return combination('server', name, context, { manager, node, manifest }, (project) => {
    project.add(context.tarball, ...serverPackages, ...(needsResolution ? [] : pin))
    expectPrinted(project.evaluate(serving), 'healthz 200')
  })
}

function bundle(context, name, withDrivers) {
  const { packages, build } = bundlers[name]
  const title = `${name}, ${withDrivers ? 'with pg and redis in the bundle' : 'without pg and redis'}`
  return combination('bundlers', title, context, {}, (project) => {
    project.add(context.tarball, LMDB, ...packages, ...(withDrivers ? driverPackages : []))
    const { urls } = context
    const stores = withDrivers ? ['memory:', urls.redis(), urls.postgres()] : ['memory:', 'file:./timers']
    project.write('program.mjs', firing(...stores))
    build(project)
    if (!withDrivers) {
      expectPrinted(project.run('node', ['out/bundle.mjs']), 'fired')
      return
    }
    // In a folder without packages, so that only the bundle can have them.
    const away = path.join(context.folder, `alone-${name}`)
    cpSync(path.join(project.folder, 'out'), away, { recursive: true })
    expectPrinted(new Project(away, context.setup).run('node', ['bundle.mjs']), 'fired')
  })
}

function oldResolution(context) {
  return combination('types', 'TypeScript 5 with moduleResolution node10', context, {}, (project) => {
    project.add(context.tarball, 'typescript@5', '@types/node@20')
    project.write('use.ts', typed)
    const flags = ['--strict', '--noEmit', '--skipLibCheck', '--target', 'es2022', '--lib', 'es2023']
    const tsc = 'node_modules/.bin/tsc'
    project.run(tsc, [...flags, '--module', 'esnext', '--moduleResolution', 'node10', 'use.ts'])
    project.run(tsc, [...flags, '--module', 'nodenext', '--moduleResolution', 'nodenext', 'use.ts'])
    project.run(tsc, [...flags, '--module', 'esnext', '--moduleResolution', 'bundler', 'use.ts'])
  })
}

function combination(group, name, context, options, attempt) {
  return { group, name, attempt: () => context.withProject(options, attempt) }
}

function expectPrinted(output, wanted) {
  if (!output.includes(wanted))
    throw new Error(`expected ${JSON.stringify(wanted)}, got:\n    ${output.trim()}`)
}
