import { describe, expect, it } from 'vitest'
import { loggerOf } from '../../src/cli/logger.js'
import { printable } from '../../src/cli/printable.js'

describe('text for a terminal', () => {
  it('has no escape sequences of names and payloads', async () => {
    expect(printable('a\u001b[2Jb\rc\u009b31m\u202ed')).toBe('a\\u001b[2Jb\\u000dc\\u009b31m\\u202ed')
    expect(printable('a\tb\nc é 日')).toBe('a\tb\nc é 日')
    let written = ''
    const logger = await loggerOf('info', 'text', (line) => (written += line))
    logger.warn({ payload: { a: '\u009b' }, err: new Error('\u001b[1mbold') }, 'hello \u001b]0;title\u0007')
    expect(written).toContain('hello \\u001b]0;title\\u0007')
    // oxlint-disable-next-line no-control-regex -- these must not be there
    expect(written).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
  })
})
