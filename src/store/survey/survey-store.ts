import { StoreError } from '../../error/index.js'
import { parseStoreUrl } from '../open-store.js'
import type { StoreMode } from '../store.js'
import type { StoreSurvey } from './survey.js'

/** Inspects the store that a URL names, without opening or making it. */
export async function surveyStore(url: string): Promise<StoreSurvey> {
  const location = parseStoreUrl(url)
  switch (location.kind) {
    case 'memory':
      return { format: undefined, knownVersion: 1, heldBy: undefined, findings: [] }
    case 'file':
      return await (await import('../file/file-survey.js')).surveyFile(location.folder)
    case 'postgres':
      return await (await import('../postgres/postgres-survey.js')).surveyPostgres(url)
    case 'redis':
      return await (await import('../redis/redis-survey.js')).surveyRedis(url)
  }
}

/** Changes the mode of a store and keeps its timers. No instance may have it open. */
export async function switchStrategy(url: string, to: StoreMode): Promise<void> {
  const { kind } = parseStoreUrl(url)
  if (kind !== 'postgres') {
    throw new StoreError(
      'wrong-strategy',
      `a ${kind} store keeps the strategy that it was made with: export its timers and import them into a new store`,
    )
  }
  await (await import('../postgres/schema/strategy-switch.js')).switchPostgres(url, to)
}
