import { CronExpressionParser } from 'cron-parser'
import type { Kind } from './kinds.js'
import type { Next } from './passes.js'

export function cronParser({ cronParser: expression, zone }: Kind): Next | undefined {
  if (expression === undefined) return undefined
  const parsed = CronExpressionParser.parse(expression, { tz: zone })
  return (after) => {
    parsed.reset(new Date(after))
    return parsed.next().getTime()
  }
}
