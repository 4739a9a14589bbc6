import { createHmac, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { Secret } from '../../src/webhooks/secret.js'

describe('A secret signs the same as HMAC-SHA256', () => {
  const head = 'msg_1.1767225600.'
  const bodies = {
    'an empty body': '',
    'a usual body': '{"type":"order","data":{"id":7}}',
    'a body that just fits the buffer': 'x'.repeat(5400),
    'a body longer than the buffer': 'long '.repeat(20_000),
    'characters of several bytes': '{"name":"Zoë 時計 🔔"}',
    'half of a surrogate pair': 'a\ud83d b',
  }

  it.each(Object.entries(bodies))('for %s, as a string and as bytes', (_name, body) => {
    for (const length of [24, 32, 63, 64]) {
      const key = randomBytes(length)
      const secret = Secret.parse(`whsec_${key.toString('base64')}`)
      const expected = createHmac('sha256', key).update(head).update(body).digest('base64')
      expect(secret.sign(head, body)).toBe(expected)
      expect(secret.sign(head, Buffer.from(body))).toBe(expected)
    }
  })

  it('for two secrets that take turns', () => {
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
