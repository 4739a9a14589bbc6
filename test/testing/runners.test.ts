import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

const program = `import { describe, it } from 'node:test'
import { describeStoreContract } from 'carillon/testing'
import { MemoryStore } from 'carillon/store'

describeStoreContract('mine', async (options) => new MemoryStore(options), {
  runner: { describe, it },
  model: { rounds: 1, operationsPerRound: 500 },
})
`

describe('describeStoreContract', () => {
  it('runs under node:test, from the built package', () => {
    const folder = mkdtempSync(path.join(root, '.carillon', 'node-test-'))
    try {
      const file = path.join(folder, 'mine.test.mjs')
      writeFileSync(file, program)
      // Without the variable that tells a child process that it runs inside another runner.
      const { NODE_TEST_CONTEXT: _, ...env } = process.env
      const output = execFileSync(process.execPath, ['--test', '--test-reporter=tap', file], {
        encoding: 'utf8',
        env,
      })
      expect(output).toMatch(/^# fail 0$/m)
      expect(Number(/^# pass (\d+)$/m.exec(output)?.[1])).toBeGreaterThan(100)
      expect(output).toMatch(/# SKIP/)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
