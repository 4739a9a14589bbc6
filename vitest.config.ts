import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const src = fileURLToPath(new URL('./src', import.meta.url))

export default defineConfig({
  resolve: {
    alias: [
      { find: /^carillon$/, replacement: `${src}/index.ts` },
      { find: /^carillon\/(.+)$/, replacement: `${src}/$1/index.ts` },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: process.env['CI']
      ? ['verbose', './scripts/closing-line.mjs']
      : ['default', './scripts/closing-line.mjs'],
    // Many tests let handlers fail on purpose. Their warnings on the console say nothing new.
    onConsoleLog: (log, type) => !(type === 'stderr' && log.startsWith('carillon: ')),
    pool: 'forks',
    // Many tests wait for a lease, a server or another process, so one worker per core would leave cores idle.
    maxWorkers: availableParallelism() + 1,
  },
})
