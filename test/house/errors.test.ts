import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { errorCodes } from '../../src/error/code.js'

const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')

describe('docs/errors.md', () => {
  it('has one row for every error code, with the advice of src/error/code.ts', () => {
    const rows = [...page.matchAll(/^\| `([a-z-]+)` +\| \w+ +\| (.+?) +\|$/gm)].map(([, code, advice]) => [
      code,
      advice,
    ])
    expect(Object.fromEntries(rows)).toEqual(errorCodes)
    expect(rows).toHaveLength(Object.keys(errorCodes).length)
  })
})
