/** A kind of schedule in the terms of each candidate. A candidate that cannot express a kind skips it. */
export interface Kind {
  readonly name: string
  readonly means: string
  readonly zone: string
  /** The name of our builder in `ours.ts`. Without it, ours uses the expression, too. */
  readonly built?: string
  readonly croner?: string
  readonly cronParser?: string
}

const zone = 'America/New_York'

export const kinds: readonly Kind[] = [
  expressed('5 minutes, UTC', '*/5 * * * *', 'UTC'),
  expressed('5 minutes', '*/5 * * * *'),
  expressed('office hours', '0 9-17 * * MON-FRI'),
  expressed('09:30', '30 9 * * *'),
  expressed('10 seconds', '*/10 * * * * *'),
  expressed('last day', '0 0 L * *'),
  expressed('third Friday', '0 9 * * 5#3'),
  expressed('leap day', '0 0 29 2 *'),
  built('every', '*/15 * * * *', "every('15m')", 'UTC'),
  built('daily', '0 9 * * *', 'daily at 09:00'),
  built('weekly', '0 9 * * 1', 'weekly on Monday at 09:00'),
  built('monthly', '0 9 L * *', 'monthly on day 31, or the last, at 09:00'),
  built('yearly', '0 9 L 2 *', 'yearly on February 29, or 28, at 09:00'),
  {
    name: 'last Friday',
    means: 'rrule FREQ=MONTHLY;BYDAY=-1FR',
    zone,
    built: 'last Friday',
    croner: '0 9 * * 5#L',
    cronParser: '0 9 * * 5L',
  },
  {
    name: 'every other week',
    means: 'rrule FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR',
    zone,
    built: 'every other week',
  },
  {
    name: 'last workday',
    means: 'rrule FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1',
    zone,
    built: 'last workday',
    croner: '0 9 LW * *',
  },
  built('hourly', '0 * * * *', 'rrule FREQ=HOURLY'),
]

function expressed(name: string, expression: string, inZone = zone): Kind {
  return {
    name,
    means: `cron ${expression}`,
    zone: inZone,
    croner: expression,
    cronParser: expression,
  }
}

function built(name: string, expression: string, means: string, inZone = zone): Kind {
  return { ...expressed(name, expression, inZone), means, built: name }
}
