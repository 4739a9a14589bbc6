import { describe, expect, it } from 'vitest'
import { checkFastify, installCommand, loadServerPackage } from '../../src/server/server-packages.js'

function failing(code: string, message: string): () => Promise<never> {
  return () => Promise.reject(Object.assign(new Error(message), { code }))
}

describe('the packages of a server', () => {
  it('are named with the npm command when one is missing', async () => {
    const load = failing('ERR_MODULE_NOT_FOUND', "Cannot find package 'fastify' imported from /a/http-app.js")
    await expect(loadServerPackage(load)).rejects.toMatchObject({
      name: 'StateError',
      code: 'package-missing',
      message: `a server needs the package fastify, which is not installed: run ${installCommand()}`,
    })
  })

  it('do not hide an error that has another cause', async () => {
    const other = failing('ERR_MODULE_NOT_FOUND', "Cannot find package 'left-pad' imported from /a/b.js")
    await expect(loadServerPackage(other)).rejects.toMatchObject({ code: 'ERR_MODULE_NOT_FOUND' })
    const wrong = failing('ERR_INVALID_ARG_TYPE', "about 'fastify'")
    await expect(loadServerPackage(wrong)).rejects.toMatchObject({ code: 'ERR_INVALID_ARG_TYPE' })
  })

  it('include a pin on Node.js 20 only', () => {
    expect(installCommand('20.19.0')).toContain('light-my-request@6.6.0')
    expect(installCommand('22.12.0')).not.toContain('light-my-request')
  })

  it('are refused in another major version than the tested one', () => {
    expect(() => checkFastify('5.12.8')).not.toThrow()
    for (const version of ['4.29.1', '6.0.0', '50.1.0']) {
      expect(() => checkFastify(version)).toThrow(
        expect.objectContaining({ code: 'package-unsupported' }) as Error,
      )
    }
  })
})
