import { firingKeyOf } from '../../timer/index.js'
import { TimerFiring } from '../timer-firing.js'

const BEGIN = 0x811c_9dc5

/**
 * The id of a message: the same on every attempt at an occurrence, also after a redrive, in characters that are valid in
 * any header.
 */
export function messageIdOf(firing: TimerFiring): string {
  const { id, row } = TimerFiring.firingOf(firing)
  // Two timers may share an identity by chance: their names tell them apart.
  return `msg_${id}-${nameHash(row.namespace, row.kind, firingKeyOf(row))}`
}

/** The body for a firing: the same on every attempt. */
export function bodyOf(firing: TimerFiring): string {
  return `{"type":${kindText(firing.kind)},${factsOf(firing)}}`
}

/** What is sent for several firings of a kind. Each is what it would be alone, with its id and its attempt. */
export function batchBodyOf(kind: string, items: readonly string[]): string {
  return `{"type":${kindText(kind)},"batch":[${items.join(',')}]}`
}

export function batchItemOf(id: string, firing: TimerFiring): string {
  return `{"id":"${id}","attempt":${firing.attempt},${factsOf(firing)}}`
}

function factsOf(firing: TimerFiring): string {
  const { key, occurrence } = firing
  // The payload is sent as it is stored: to parse and write it again would take longer than to sign it.
  const payload = TimerFiring.payloadText(firing)
  const data = payload === undefined ? '' : `,"data":${payload}`
  return `"timestamp":"${instantText(firing.dueAt)}","key":${JSON.stringify(key)},"occurrence":${occurrence}${data}`
}

// Most messages have the kind of the one before, and many its instant, so their JSON is cached.
let lastKind = ''
let lastKindText = '""'
let lastInstant = 0
let lastInstantText = '1970-01-01T00:00:00.000Z'
let lastScope = { namespace: '', kind: '', hash: hashed(BEGIN, '\0\0') }

function kindText(kind: string): string {
  if (kind !== lastKind) {
    lastKindText = JSON.stringify(kind)
    lastKind = kind
  }
  return lastKindText
}

function instantText(at: number): string {
  if (at !== lastInstant) {
    lastInstantText = new Date(at).toISOString()
    lastInstant = at
  }
  return lastInstantText
}

/** The hash of namespace, kind and key with U+0000 between them. */
function nameHash(namespace: string, kind: string, key: string): string {
  if (namespace !== lastScope.namespace || kind !== lastScope.kind) {
    lastScope = { namespace, kind, hash: hashed(BEGIN, `${namespace}\0${kind}\0`) }
  }
  return (hashed(lastScope.hash, key) >>> 0).toString(36)
}

/** FNV-1a, continued from an earlier hash. */
function hashed(from: number, text: string): number {
  let hash = from
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x0100_0193)
  return hash
}
