import { TimerFiring } from '../timer-firing.js'

/** The same on every attempt at an occurrence, in characters that any header and any receiver takes. */
export function messageIdOf(firing: TimerFiring): string {
  const { id } = TimerFiring.firingOf(firing)
  // Two timers may share an identity by chance: their names tell them apart.
  return `msg_${id}-${nameHash(`${firing.namespace}\0${firing.kind}\0${firing.key}`)}`
}

/** What is sent for a firing: the same on every attempt. */
export function bodyOf(firing: TimerFiring): string {
  return `{"type":${JSON.stringify(firing.kind)},${factsOf(firing)}}`
}

/** What is sent for several firings of a kind. Each is what it would be alone, with its id and its attempt. */
export function batchBodyOf(kind: string, items: readonly string[]): string {
  return `{"type":${JSON.stringify(kind)},"batch":[${items.join(',')}]}`
}

export function batchItemOf(id: string, firing: TimerFiring): string {
  return `{"id":"${id}","attempt":${firing.attempt},${factsOf(firing)}}`
}

function factsOf(firing: TimerFiring): string {
  const { key, occurrence } = firing
  const dueAt = new Date(firing.dueAt).toISOString()
  // The payload is sent as the store has it: to read it and to write it again would take longer than to sign it.
  const payload = TimerFiring.payloadText(firing)
  const data = payload === undefined ? '' : `,"data":${payload}`
  return `"timestamp":"${dueAt}","key":${JSON.stringify(key)},"occurrence":${occurrence}${data}`
}

/** FNV-1a. */
function nameHash(text: string): string {
  let hash = 0x811c_9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x0100_0193)
  return (hash >>> 0).toString(36)
}
