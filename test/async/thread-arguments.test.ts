import { describe, expect, it } from 'vitest'
import { threadArguments } from '../../src/async/index.js'

describe('the arguments for a thread', () => {
  it.each([
    [
      ['--input-type=module', '-e', 'text'],
      ['-e', 'text'],
    ],
    [['--input-type', 'module', '--enable-source-maps'], ['--enable-source-maps']],
    [['--max-old-space-size=100'], ['--max-old-space-size=100']],
  ])('are those of the process without --input-type: %j', (given, expected) => {
    expect(threadArguments(given)).toEqual(expected)
  })
})
