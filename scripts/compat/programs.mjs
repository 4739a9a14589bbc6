// The programs that a consumer of the package runs.

/** Prints `fired` when a timer of each store has fired. */
export function firing(...stores) {
  return `import { openTimers, timer } from 'carillon'
for (const store of ${JSON.stringify(stores)}) {
  const timers = await openTimers({ store, logger: false })
  const remind = timer('remind')
  await new Promise((resolve, reject) => {
    timers.handle(remind, resolve)
    timers.start().then(() => timers.set(remind, 'a', { in: 0 })).catch(reject)
  })
  await timers.stop()
}
console.log('fired')
`
}

/** Prints the code of the error that opening a store gives. */
export function refusing(store) {
  return `import { openStore } from 'carillon'
await openStore('${store}').then((opened) => opened.stop(), (error) => console.log(error.code))
`
}

/** Serves timers and prints the status of an answer. */
export const serving = `import { Server } from 'carillon/server'
const server = await Server.start({ store: 'memory:', port: 0, auth: false })
console.log('healthz ' + (await fetch(server.url + '/healthz')).status)
await server.stop()
`

/** Types of every kind of entry point, for compilers that do not read \`exports\`. */
export const typed = `import { openTimers, timer, type TimersApi } from 'carillon'
import { Client } from 'carillon/client'
import { testTimers } from 'carillon/testing'
const remind = timer<{ n: number }>('remind')
export async function use(url: string): Promise<TimersApi> {
  const timers = await openTimers({ store: url })
  await timers.set(remind, 'a', { in: '5m', payload: { n: 1 } })
  // @ts-expect-error n is missing
  await timers.set(remind, 'a', { in: '5m', payload: {} })
  void [Client, testTimers]
  return timers
}
`

export const webpackConfig = `export default {
  mode: 'production', target: 'node', entry: './program.mjs',
  output: { filename: 'bundle.mjs', path: process.cwd() + '/out', module: true, chunkFormat: 'module' },
  experiments: { outputModule: true },
  optimization: { minimize: false },
  // Packages that are absent are warnings. Anything else ends the build.
  bail: true,
}
`

export const rollupConfig = `import commonjs from '@rollup/plugin-commonjs'
import json from '@rollup/plugin-json'
import resolve from '@rollup/plugin-node-resolve'
export default {
  input: 'program.mjs',
  output: { dir: 'out', format: 'es', entryFileNames: 'bundle.mjs' },
  plugins: [resolve({ preferBuiltins: true }), commonjs({ ignoreDynamicRequires: true }), json()],
}
`
