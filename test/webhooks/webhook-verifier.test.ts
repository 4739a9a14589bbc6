import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../src/time/index.js'
import { parseSecrets, Secret, signatureOf, WebhookVerifier } from '../../src/webhooks/index.js'

const START = 1_800_000_000_000
const secretText = (): string => `whsec_${randomBytes(32).toString('base64')}`
const old = secretText()
const young = secretText()
const body = JSON.stringify({ type: 'remind', data: { order: 7, who: 'Zoë ✓' } })

function signed(secrets: string | readonly string[], at = START, content = body) {
  const timestamp = Math.floor(at / 1000)
  return {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatureOf(parseSecrets(secrets), 'msg_1', timestamp, content),
  }
}

function verifier(secrets: string | readonly string[], at = START): WebhookVerifier {
  return new WebhookVerifier(secrets, { clock: new VirtualClock({ start: at }) })
}

describe('WebhookVerifier', () => {
  it('returns a signed message, as a string or bytes, with every form of headers', () => {
    const headers = signed(old)
    const expected = { id: 'msg_1', sentAt: new Date(START), message: JSON.parse(body) as unknown }
    expect(verifier(old).verify(body, headers)).toEqual(expected)
    expect(verifier(old).verify(Buffer.from(body), headers)).toEqual(expected)
    expect(verifier(old).verify(body, new Headers(headers))).toEqual(expected)
    const listed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))
    expect(verifier(old).verify(body, listed)).toEqual(expected)
  })

  it('refuses a tampered body, id or timestamp, and a signature by another secret', () => {
    const headers = signed(old)
    const forged = expect.objectContaining({ name: 'WebhookError', code: 'webhook-forged' }) as Error
    expect(() => verifier(old).verify(body.replace('7', '8'), headers)).toThrow(forged)
    expect(() => verifier(old).verify(body, { ...headers, 'webhook-id': 'msg_2' })).toThrow(forged)
    const later = { ...headers, 'webhook-timestamp': String(START / 1000 + 1) }
    expect(() => verifier(old).verify(body, later)).toThrow(forged)
    expect(() => verifier(young).verify(body, headers)).toThrow(forged)
    expect(() => verifier(old).verify(body, { ...headers, 'webhook-signature': 'v1,AAAA v2,x' })).toThrow(
      forged,
    )
  })

  it('refuses a message that is too old, too far ahead, unsigned or not JSON', () => {
    const headers = signed(old)
    expect(verifier(old, START + 299_000).verify(body, headers).id).toBe('msg_1')
    expect(() => verifier(old, START + 301_000).verify(body, headers)).toThrow(
      /is dated 301 s in the past: at most 300 s are allowed/,
    )
    expect(() => verifier(old, START - 301_000).verify(body, headers)).toThrow(/is dated 301 s in the future/)
    for (const name of Object.keys(headers)) {
      const rest = Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name))
      expect(() => verifier(old).verify(body, rest)).toThrow(
        expect.objectContaining({ code: 'webhook-unsigned' }),
      )
    }
    expect(() => verifier(old).verify(body, { ...headers, 'webhook-timestamp': '1e9' })).toThrow(
      expect.objectContaining({ code: 'webhook-unsigned' }),
    )
    expect(() => verifier(old).verify('no JSON', signed(old, START, 'no JSON'))).toThrow(
      expect.objectContaining({ code: 'webhook-unreadable' }),
    )
  })

  it('accepts the old and the new secret during a rotation', () => {
    for (const sender of [old, young, [young, old]]) {
      expect(verifier([young, old]).verify(body, signed(sender)).id).toBe('msg_1')
    }
    // A message signed with both secrets satisfies receivers that have either.
    for (const receiver of [old, young]) {
      expect(verifier(receiver).verify(body, signed([young, old])).id).toBe('msg_1')
    }
  })
})

describe('The package standardwebhooks', () => {
  it('accepts our signatures, and WebhookVerifier accepts its signatures', () => {
    const now = Date.now()
    expect(new Webhook(old).verify(body, signed(old, now))).toEqual(JSON.parse(body))
    expect(new Webhook(old).verify(body, signed([young, old], now))).toEqual(JSON.parse(body))
    expect(() => new Webhook(young).verify(body, signed(old, now))).toThrow('No matching signature')
    expect(() => new Webhook(old).verify(`${body} `, signed(old, now))).toThrow('No matching signature')
    const headers = {
      'webhook-id': 'msg_9',
      'webhook-timestamp': String(START / 1000),
      'webhook-signature': new Webhook(old).sign('msg_9', new Date(START), body),
    }
    expect(verifier(old).verify(body, headers).id).toBe('msg_9')
  })
})

describe('Secret', () => {
  it('refuses an invalid secret without showing it in the error', () => {
    const wrong: readonly unknown[] = [
      '',
      'whsec_',
      'whsec_short',
      old.slice(6),
      `whsec_${randomBytes(23).toString('base64')}`,
      `whsec_${randomBytes(65).toString('base64')}`,
      `whsec_${'*'.repeat(44)}`,
      42,
      undefined,
    ]
    for (const text of wrong) {
      const error = (() => {
        try {
          Secret.parse(text)
          return undefined
        } catch (thrown) {
          return thrown as Error
        }
      })()
      expect(error).toMatchObject({ code: 'invalid-secret' })
      if (typeof text === 'string' && text.length > 8) expect(error!.message).not.toContain(text.slice(6))
    }
    expect(() => parseSecrets([])).toThrow(expect.objectContaining({ code: 'invalid-secret' }))
  })

  it('never shows its key in inspect or JSON', () => {
    const secret = Secret.parse(old)
    const shown = [inspect(secret, { depth: 9, showHidden: true }), JSON.stringify({ secret })]
    for (const text of shown) {
      expect(text).not.toContain(old.slice(6, 20))
      expect(text).not.toContain(Buffer.from(old.slice(6), 'base64').toString('hex').slice(0, 12))
    }
  })
})
