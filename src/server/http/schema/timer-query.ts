import { Type } from '@sinclair/typebox'
import { Kind } from './schema.js'

/** The conditions of a query that are written the same in the URL and in a body. */
export const conditions = {
  kind: Type.Optional(Kind),
  keyPart: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 512,
      description: 'Is somewhere in the key. Upper and lower case differ.',
    }),
  ),
  tag: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  attemptsFrom: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Has had at least this many attempts at its current occurrence.',
    }),
  ),
  attemptsUntil: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Has had fewer attempts than this.' }),
  ),
  recurring: Type.Optional(Type.Boolean({ description: 'Whether it has a schedule.' })),
  state: Type.Optional(
    Type.Union(
      (['waiting', 'firing', 'paused', 'retrying'] as const).map((state) => Type.Literal(state)),
      {
        description:
          'As in the answer; firing: in the instance that answers. retrying: it waits, after at least one attempt.',
      },
    ),
  ),
}

/** How a page that may end early says so. */
export const progress = {
  complete: Type.Boolean({
    description: 'False if it ended early, after about 100 ms. Go on with the cursor.',
  }),
  looked: Type.Integer({ description: 'How many timers were looked at since the first page.' }),
  total: Type.Optional(
    Type.Integer({ description: 'About how many timers the store has. Only if it ended early.' }),
  ),
}
