import { createHmac, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { Secret } from '../../src/webhooks/secret.js'

describe('a secret signs as HMAC with SHA-256 does', () => {
  const head = 'msg_1.1767225600.'
  const bodies = {
    'an empty body': '',
    'a usual body': '{"type":"order","data":{"id":7}}',
    'a body that just fits': 'x'.repeat(5400),
    'a body that is long': 'long '.repeat(20_000),
    'characters of several bytes': '{"name":"Zoë 時計 🔔"}',
    'half of a pair': 'a\ud83d b',
  }

  it.each(Object.entries(bodies))('%s, as text and as bytes', (_name, body) => {
    for (const length of [24, 32, 63, 64]) {
      const key = randomBytes(length)
      const secret = Secret.parse(`whsec_${key.toString('base64')}`)
      const expected = createHmac('sha256', key).update(head).update(body).digest('base64')
      expect(secret.sign(head, body)).toBe(expected)
      expect(secret.sign(head, Buffer.from(body))).toBe(expected)
    }
  })

  it('with one secret after another', () => {
    const [one, other] = [randomBytes(32), randomBytes(40)].map((key) => ({
      key,
      secret: Secret.parse(`whsec_${key.toString('base64')}`),
    })) as [{ key: Buffer; secret: Secret }, { key: Buffer; secret: Secret }]
    for (const { key, secret } of [one, other, one, other]) {
      expect(secret.sign(head, 'body')).toBe(
        createHmac('sha256', key).update(head).update('body').digest('base64'),
      )
    }
  })
})
