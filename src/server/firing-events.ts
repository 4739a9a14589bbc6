import type { TimerFiring } from '../delivery/index.js'
import type { TimersEvent } from '../front/index.js'
import type { Events } from './events.js'

/** Turns what timers tell into events for those who listen. */
export function tellEvents(events: Events): (event: TimersEvent) => void {
  return (event) => {
    switch (event.type) {
      case 'logged':
        events.tell('fired', event.firing.namespace, {
          ...factsOf(event.firing),
          latenessMs: event.firing.lateness,
        })
        return
      case 'failed': {
        const { firing, error, outcome } = event
        const reason = error instanceof Error ? error.message : String(error)
        events.tell('failed', firing.namespace, { ...factsOf(firing), outcome: outcome.type, reason })
        return
      }
      case 'lease-lost': {
        const { type, namespace, ...facts } = event
        events.tell(type, namespace, facts)
        return
      }
      case 'store-trouble': {
        const { type, shard, call, error } = event
        events.engine(type, { shard, call, error: error.message })
        return
      }
      case 'acquired':
      case 'released':
      case 'lost':
      case 'settled':
      case 'swept':
      case 'loaded':
      case 'window':
      case 'stalled':
      case 'clock-off':
      case 'target':
        events.engine(event.type, event)
    }
  }
}

function factsOf({ id, kind, key, attempt, dueAt }: TimerFiring) {
  return { id, kind, key, attempt, dueAt }
}
