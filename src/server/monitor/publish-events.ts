import type { TimerFiring } from '../../delivery/index.js'
import type { TimersEvent } from '../../front/index.js'
import type { EventStreams } from './event-streams.js'

/** A listener for `timers.onEvent` that sends each event to the streams. */
export function eventPublisher(events: EventStreams): (event: TimersEvent) => void {
  return (event) => {
    switch (event.type) {
      case 'logged':
        events.publish('fired', event.firing.namespace, {
          ...factsOf(event.firing),
          latenessMs: event.firing.lateness,
        })
        return
      case 'failed': {
        const { firing, error, outcome } = event
        const reason = error instanceof Error ? error.message : String(error)
        events.publish('failed', firing.namespace, { ...factsOf(firing), outcome: outcome.type, reason })
        return
      }
      case 'lease-lost': {
        const { type, namespace, ...facts } = event
        events.publish(type, namespace, facts)
        return
      }
      case 'store-trouble': {
        const { type, shard, call, error } = event
        events.publishEngine(type, { shard, call, error: error.message })
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
      case 'unowned':
      case 'level-ahead':
      case 'lease-ahead':
      case 'target':
        events.publishEngine(event.type, event)
    }
  }
}

function factsOf({ id, kind, key, attempt, dueAt }: TimerFiring) {
  return { id, kind, key, attempt, dueAt }
}
