import { describe, expect, it } from 'vitest'
import { shownUrl } from '../../src/error/index.js'
import { openStore } from '../../src/store/index.js'
import { runCli } from './run-cli.js'

describe('an error message', () => {
  it.each([
    'postgress://u:secret@host/db',
    'postgress://u:sec/secret@host/db',
    'postgress:u:secret@host',
    'http://me:secret@host',
    'redis+tls://:secret@host',
    'file://u:secret@host/folder',
  ])('has no password of the store URL %s', async (url) => {
    const error = await openStore(url).catch((thrown: unknown) => thrown)
    expect(String(error)).toContain('cannot open the store')
    expect(String(error)).not.toContain('secret')
    expect(shownUrl(url)).toContain('@host')
  })

  it('has no key of --url, and the command uses it as its key', async () => {
    for (const url of [
      'http://me:hush@127.0.0.1:9',
      'htp://me:hush@127.0.0.1:9',
      'http://hush@127.0.0.1:9',
    ]) {
      const { code, out, err } = await runCli(['get', 'a', 'b', '--url', url])
      expect(code).not.toBe(0)
      expect(out + err).toContain('127.0.0.1:9')
      expect(out + err).not.toContain('hush')
    }
  })
})
