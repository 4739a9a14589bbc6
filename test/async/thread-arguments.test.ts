import { execFile } from 'node:child_process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { threadArguments } from '../../src/async/index.js'

describe('the arguments for a thread', () => {
  it.each([
    [['--input-type=module', '-e', 'text'], []],
    [
      ['--max-old-space-size=100', '--input-type', 'module', '--enable-source-maps'],
      ['--enable-source-maps'],
    ],
    [
      ['--import=a.js', '-r', 'b.js', '--input-type=module'],
      ['--import=a.js', '-r', 'b.js'],
    ],
  ])('are those that concern loading in a process with --input-type: %j', (given, execArgv) => {
    expect(threadArguments(given)).toEqual({ execArgv })
  })

  it('are inherited in any other process', () => {
    expect(threadArguments(['--max-old-space-size=100', '-r', 'a.js'])).toEqual({})
  })

  it.each([
    ['--max-old-space-size=200', '--expose-gc', '--input-type=module'],
    ['--max-old-space-size=200', '--expose-gc', '--no-warnings'],
  ])('let a thread start in a process with %s %s %s', async (...given) => {
    const file = fileURLToPath(new URL('../../dist/parallel/index.js', import.meta.url))
    const program = `import(${JSON.stringify(pathToFileURL(file).href)})
      .then(({ FineClock }) => FineClock.start())
      .then((clock) => clock.wakeAt(clock.now() + 1, () => console.log('woken')))`
    const ran = await promisify(execFile)(process.execPath, [...given, '-e', program])
    expect(ran.stdout).toBe('woken\n')
  })
})
