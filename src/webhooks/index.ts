/** Secrets, signatures and a verifier for webhooks, as specified by Standard Webhooks. */
export { parseSecrets, Secret } from './secret.js'
export { signatureOf } from './signature.js'
export {
  type VerifiedWebhook,
  type VerifierOptions,
  type WebhookHeaders,
  WebhookVerifier,
} from './webhook-verifier.js'
