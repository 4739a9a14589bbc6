import { Type } from '@sinclair/typebox'
import { EpochMs, PauseBody } from '../http/schema/schema.js'

const counts = {
  pending: Type.Integer({ description: 'Timers that are set and not settled.' }),
  overdue: Type.Integer({ description: 'Timers that have been due for more than five seconds.' }),
  oldestDueAt: Type.Optional(EpochMs),
  waiting: Type.Integer({ description: 'Due timers that wait in the memory of an instance.' }),
  inFlight: Type.Integer({ description: 'Attempts that run now.' }),
  retrying: Type.Integer({ description: 'Timers with an attempt that did not end them.' }),
  paused: Type.Integer({ description: 'Timers that are paused one by one.' }),
  dead: Type.Integer({ description: 'Dead letters.' }),
}

const Rates = Type.Object({
  set: Type.Number(),
  fired: Type.Number(),
  done: Type.Number(),
  failed: Type.Number({ description: 'Attempts after which the timer is tried again.' }),
  dead: Type.Number(),
})

export const Instances = Type.Object(
  { known: Type.Integer(), answered: Type.Integer() },
  {
    description: 'How many instances there are, and how many have answered: the rest is missing in the sums.',
  },
)

export const KindOverviewBody = Type.Object({
  kind: Type.String(),
  ...counts,
  pause: Type.Optional(PauseBody),
  target: Type.Optional(
    Type.Object({
      type: Type.Union([
        Type.Literal('webhook'),
        Type.Literal('lease'),
        Type.Literal('log'),
        Type.Literal('sealed'),
      ]),
      version: Type.Integer(),
      url: Type.Optional(Type.String()),
    }),
  ),
  breaker: Type.Optional(
    Type.Union([Type.Literal('gone'), Type.Literal('refused'), Type.Literal('open')], {
      description: 'What keeps an instance from using the target. Absent if it works.',
    }),
  ),
  handledBy: Type.Array(Type.String(), {
    description: 'The instances that have a handler or a target for it.',
  }),
  perSecond: Rates,
  lateness: Type.Optional(
    Type.Object(
      { p50Ms: Type.Number(), p99Ms: Type.Number() },
      { description: 'Of the last ten minutes, as upper bounds.' },
    ),
  ),
})

export const CountedBody = Type.Object(
  {
    state: Type.Union([Type.Literal('none'), Type.Literal('running'), Type.Literal('done')]),
    countedAt: Type.Optional(EpochMs),
  },
  {
    description:
      'The store is counted in the background, so these counts are as of countedAt. It is absent, and they are 0, until the first count has ended.',
  },
)

export const OverviewBody = Type.Object({
  at: EpochMs,
  namespace: Type.String(),
  isAllPaused: Type.Boolean(),
  allPause: Type.Optional(PauseBody),
  totals: Type.Object(counts),
  kinds: Type.Array(KindOverviewBody),
  moreKinds: Type.Boolean({ description: 'There are more kinds than these.' }),
  counted: CountedBody,
  instances: Instances,
})
