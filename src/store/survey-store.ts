import { StoreError } from '../error/index.js'
import { placeOf } from './open-store.js'
import type { Strategy } from './store.js'
import type { StoreSurvey } from './survey.js'

/** Looks at the store that a URL names without opening or making it. */
export async function surveyStore(url: string): Promise<StoreSurvey> {
  const place = placeOf(url)
  switch (place.kind) {
    case 'memory':
      return { format: undefined, knownVersion: 1, heldBy: undefined, findings: [] }
    case 'file':
      return await (await import('./file/file-survey.js')).surveyFile(place.folder)
    case 'postgres':
      return await (await import('./postgres/postgres-survey.js')).surveyPostgres(url)
    case 'redis':
      return await (await import('./redis/redis-survey.js')).surveyRedis(url)
  }
}

/** Makes a store one of another strategy. Its timers stay; no instance may have it open. */
export async function switchStrategy(url: string, to: Strategy): Promise<void> {
  const { kind } = placeOf(url)
  if (kind !== 'postgres') {
    throw new StoreError(
      'wrong-strategy',
      `a ${kind} store keeps the strategy that it was made with: export its timers and import them into a new one`,
    )
  }
  await (await import('./postgres/strategy-switch.js')).switchPostgres(url, to)
}
