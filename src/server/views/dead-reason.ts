import { MAX_GROUP_REASON } from '../defaults.js'

/**
 * The reason by which a dead letter is grouped: parts that differ from letter to letter, such as numbers, ids and quoted
 * values, become `…`.
 */
export function groupReasonOf(reason: string): string {
  return reason
    .slice(0, MAX_GROUP_REASON)
    .replace(/"[^"]{0,200}"?|'[^']{0,200}'/g, '…')
    .replace(/\b(?=[0-9a-f-]*\d)[0-9a-f]{8}[0-9a-f-]*\b/gi, '…')
    .replace(/\d+(?:\.\d+)*/g, '…')
}
