/** Webhooks as Standard Webhooks has them: their secrets, their signatures, and a verifier for those who receive them. */
export { parseSecrets, Secret } from './secret.js'
export { signatureOf } from './signature.js'
export {
  type VerifiedWebhook,
  type VerifierOptions,
  type WebhookHeaders,
  WebhookVerifier,
} from './webhook-verifier.js'
