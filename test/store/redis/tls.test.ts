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
let front: tls.Server

// Node makes no certificates.
const canCertify = spawnSync('openssl', ['version']).status === 0

/** Encrypted in front of a Redis that is not, as many hosts have it. */
beforeAll(async () => {
  if (!canCertify) return
  const key = path.join(folder, 'key.pem')
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject]
  execFileSync('openssl', [...made, '-keyout', key, '-out', certificate], { stdio: 'ignore' })
  redis = await startRedis()
  const { hostname, port } = new URL(redis.url)
  front = tls.createServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (socket) => {
    const behind = net.connect(Number(port), hostname)
    socket.pipe(behind).pipe(socket)
    socket.on('error', () => behind.destroy())
    behind.on('error', () => socket.destroy())
  })
  front.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => front.listen(0, 'localhost', resolve))
})

afterAll(async () => {
  if (canCertify) {
    front.close()
    await redis.stop()
  }
  rmSync(folder, { recursive: true, force: true })
})

describe.skipIf(!canCertify)('rediss://', () => {
  const url = (): string =>
    `rediss://localhost:${(front.address() as AddressInfo).port}?prefix=tls-${process.pid}`

  it('refuses a certificate that nobody vouches for, and says so', async () => {
    await expect(openStore(url())).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringMatching(/certificate/i) as unknown,
    })
  })

  it('keeps timers behind a certificate that Node was told to trust', async () => {
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
