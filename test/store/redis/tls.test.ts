import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import process from 'node:process'
import tls from 'node:tls'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../../src/store/index.js'
import { startRedis, type RedisServer } from '../../servers/redis.js'

const folder = mkdtempSync(path.join(tmpdir(), 'carillon-tls-'))
const certificate = path.join(folder, 'certificate.pem')
let redis: RedisServer
let proxy: tls.Server

// Node cannot create certificates.
const canCertify = spawnSync('openssl', ['version']).status === 0

/** A TLS proxy in front of a Redis server without TLS, as many hosts run it. */
beforeAll(async () => {
  if (!canCertify) return
  const key = path.join(folder, 'key.pem')
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject]
  execFileSync('openssl', [...request, '-keyout', key, '-out', certificate], { stdio: 'ignore' })
  redis = await startRedis()
  const { hostname, port } = new URL(redis.url)
  proxy = tls.createServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (socket) => {
    const behind = net.connect(Number(port), hostname)
    socket.pipe(behind).pipe(socket)
    socket.on('error', () => behind.destroy())
    behind.on('error', () => socket.destroy())
  })
  proxy.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => proxy.listen(0, 'localhost', resolve))
})

afterAll(async () => {
  if (canCertify) {
    proxy.close()
    await redis.stop()
  }
  rmSync(folder, { recursive: true, force: true })
})

describe.skipIf(!canCertify)('a store with a rediss:// URL', () => {
  const url = (): string =>
    `rediss://localhost:${(proxy.address() as AddressInfo).port}?prefix=tls-${process.pid}`

  it('is rejected when the certificate is not trusted, and the error says so', async () => {
    await expect(openStore(url())).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringMatching(/certificate/i) as unknown,
    })
  })

  it('works with a certificate from NODE_EXTRA_CA_CERTS', async () => {
    const script = `
      import { openTimers, timer } from 'carillon'
      const timers = await openTimers({ store: process.argv[1] })
      const { key } = await timers.set(timer('secure'), 'a', { in: '1h' })
      process.stdout.write(key)
      await timers.stop()`
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '-e', script, url()],
      { env: { ...process.env, NODE_EXTRA_CA_CERTS: certificate }, timeout: 60_000 },
    )
    expect(stdout).toBe('a')
  })
})
