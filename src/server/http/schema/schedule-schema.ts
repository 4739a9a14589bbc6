import { type TSchema, Type } from '@sinclair/typebox'
import { EpochMs, Duration, Instant } from './schema.js'

/*
 * The JSON of schedules, for the document only. A request's schedule is checked by the builders of `src/schedule`,
 * whose messages say more than a schema could.
 */

const Zone = Type.String({ description: "An IANA name such as 'Europe/Paris', 'UTC' or an offset." })
const Gap = choice('next', 'shift', 'skip')
const Overlap = choice('first', 'second', 'both')
const InvalidDate = choice('backward', 'forward', 'skip')
const Time = Type.String({ description: "A local time such as '09:00' or '09:00:30'." })
const MonthDay = Type.Union([Type.Integer({ minimum: 1, maximum: 31 }), Type.Literal('last')])

function choice(...values: readonly string[]) {
  return Type.Union(values.map((value) => Type.Literal(value)))
}

function oneOrMore<Item extends TSchema>(item: Item) {
  return Type.Union([item, Type.Array(item)])
}

const wall = { zone: Zone, gap: Gap, overlap: Overlap }
const storedTerms = {
  version: Type.Literal(1),
  from: Type.Optional(EpochMs),
  until: Type.Optional(EpochMs),
  times: Type.Optional(Type.Integer()),
  missed: choice('skip', 'once', 'all'),
  missedLimit: Type.Integer(),
  jitterMs: Type.Optional(Type.Number()),
  windowMs: Type.Optional(Type.Number()),
}

/** A recurrence rule is written the same way in requests and in answers. */
const rule = {
  type: Type.Literal('rrule'),
  rule: Type.String(),
  start: Type.String(),
  except: Type.Optional(Type.Array(Type.String())),
  also: Type.Optional(Type.Array(Type.String())),
}

/** A schedule as it is stored and answered. */
export const Schedule = Type.Union(
  [
    Type.Object({ type: Type.Literal('cron'), expression: Type.String(), ...wall, ...storedTerms }),
    Type.Object({
      type: Type.Literal('every'),
      everyMs: Type.Number(),
      anchor: Type.Number(),
      ...storedTerms,
    }),
    Type.Object({ type: Type.Literal('daily'), at: Type.Array(Time), ...wall, ...storedTerms }),
    Type.Object({
      type: Type.Literal('weekly'),
      on: Type.Array(Type.String()),
      at: Type.Array(Time),
      ...wall,
      ...storedTerms,
    }),
    Type.Object({
      type: Type.Literal('monthly'),
      day: Type.Array(MonthDay),
      at: Type.Array(Time),
      invalidDate: InvalidDate,
      ...wall,
      ...storedTerms,
    }),
    Type.Object({
      type: Type.Literal('yearly'),
      month: Type.Integer(),
      day: MonthDay,
      at: Type.Array(Time),
      invalidDate: InvalidDate,
      ...wall,
      ...storedTerms,
    }),
    Type.Object({
      ...rule,
      ...wall,
      ...storedTerms,
    }),
  ],
  { description: 'When a timer recurs. Every default is written out.' },
)

const givenWall = {
  zone: Type.Optional(Zone),
  gap: Type.Optional(Gap),
  overlap: Type.Optional(Overlap),
}
const givenTerms = {
  version: Type.Optional(Type.Literal(1)),
  from: Type.Optional(Instant),
  until: Type.Optional(Instant),
  times: Type.Optional(Type.Integer({ minimum: 1 })),
  missed: Type.Optional(choice('skip', 'once', 'all')),
  missedLimit: Type.Optional(Type.Integer({ minimum: 1 })),
  jitter: Type.Optional(Duration),
  window: Type.Optional(Duration),
}

/** A schedule as a request may have it. */
export const ScheduleGiven = Type.Union(
  [
    Type.String({ description: 'A cron expression in UTC.' }),
    Type.Object({
      type: Type.Literal('cron'),
      expression: Type.String(),
      ...givenWall,
      ...givenTerms,
    }),
    Type.Object({
      type: Type.Literal('every'),
      everyMs: Type.Number(),
      anchor: Type.Optional(Type.Number()),
      ...givenTerms,
    }),
    Type.Object({ type: Type.Literal('daily'), at: oneOrMore(Time), ...givenWall, ...givenTerms }),
    Type.Object({
      type: Type.Literal('weekly'),
      on: oneOrMore(Type.String()),
      at: oneOrMore(Time),
      ...givenWall,
      ...givenTerms,
    }),
    Type.Object({
      type: Type.Literal('monthly'),
      day: oneOrMore(MonthDay),
      at: oneOrMore(Time),
      invalidDate: Type.Optional(InvalidDate),
      ...givenWall,
      ...givenTerms,
    }),
    Type.Object({
      type: Type.Literal('yearly'),
      month: Type.Integer({ minimum: 1, maximum: 12 }),
      day: MonthDay,
      at: oneOrMore(Time),
      invalidDate: Type.Optional(InvalidDate),
      ...givenWall,
      ...givenTerms,
    }),
    Type.Object({
      ...rule,
      ...givenWall,
      ...givenTerms,
    }),
  ],
  { description: 'A cron expression, or a schedule. docs/schedules.md explains the fields.' },
)
