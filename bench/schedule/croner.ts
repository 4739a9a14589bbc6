import { Cron } from 'croner'
import type { Kind } from './kinds.js'
import type { Next } from './passes.js'

export function croner({ croner: expression, zone }: Kind): Next | undefined {
  if (expression === undefined) return undefined
  const job = new Cron(expression, { timezone: zone, paused: true })
  return (after) => job.nextRun(new Date(after))?.getTime() ?? Infinity
}
