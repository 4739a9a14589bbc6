import { Type } from '@sinclair/typebox'
import type { Timers } from '../../front/index.js'
import type { Store } from '../../store/index.js'
import { type Route, route } from '../http/route.js'
import { version } from '../version.js'
import { ApiKeyBody } from './admin.js'

/** Who calls, and what answers. Every key may ask. */
export function whoAmIRoutes(parts: {
  readonly timers: Timers
  readonly store: Store
  readonly needsKey: boolean
}): Route[] {
  const { timers, store, needsKey } = parts
  return [
    route({
      method: 'GET',
      path: '/v1/whoami',
      scope: 'read',
      group: 'Keys',
      summary: 'The key of the request with what it allows, and the server that answers.',
      answer: Type.Object({
        key: ApiKeyBody,
        namespace: Type.String({ description: 'The namespace that the request works in.' }),
        needsKey: Type.Boolean({ description: 'False if the request needed no key.' }),
        server: Type.Object({
          version: Type.String(),
          member: Type.String(),
          store: Type.String(),
          strategy: Type.String(),
        }),
      }),
      handle: ({ admission: { key, namespace } }) => ({
        key,
        namespace,
        // A user whom the program has authenticated has no key to sign out with.
        needsKey: needsKey && !key.id.startsWith('user '),
        server: {
          version,
          member: timers.engine.memberId,
          store: store.name,
          strategy: timers.engine.settings.strategy,
        },
      }),
    }),
  ]
}
