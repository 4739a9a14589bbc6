import { timingSafeEqual } from 'node:crypto'
import type { Secret } from './secret.js'

const VERSION = 'v1'

/** Signs a message with every secret. Returns the value of the header `webhook-signature`. */
export function signatureOf(
  secrets: readonly Secret[],
  id: string,
  timestamp: number,
  body: string | Uint8Array,
): string {
  const head = `${id}.${timestamp}.`
  const [only] = secrets
  if (secrets.length === 1) return `${VERSION},${only!.sign(head, body)}`
  return secrets.map((secret) => `${VERSION},${secret.sign(head, body)}`).join(' ')
}

/** Whether any signature in the header matches any of the secrets. The comparison takes constant time. */
export function isSigned(
  secrets: readonly Secret[],
  id: string,
  timestamp: string,
  body: string | Uint8Array,
  header: string,
): boolean {
  const head = `${id}.${timestamp}.`
  const given = header
    .split(' ')
    .filter((signature) => signature.startsWith(`${VERSION},`))
    .map((signature) => Buffer.from(signature.slice(VERSION.length + 1), 'base64'))
  let isFound = false
  for (const secret of secrets) {
    const expected = Buffer.from(secret.sign(head, body), 'base64')
    for (const signature of given) {
      if (signature.length === expected.length && timingSafeEqual(signature, expected)) isFound = true
    }
  }
  return isFound
}
