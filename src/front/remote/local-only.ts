import { StoreError } from '../../error/index.js'
import type { Timers } from '../timers.js'
import type { RemoteTimers } from './remote-timers.js'

/** The members of `Timers` that timers on a server do not have, with what to do instead. */
const advice: Readonly<Record<Exclude<keyof Timers, keyof RemoteTimers>, string>> = Object.freeze({
  engine: 'the engine runs in the server: see its statistics and events',
  handleOthers: 'a server leases timers by kind: call handle for each kind',
  deliver: 'the server delivers to targets: call setTarget',
  using: 'a server cannot join your transaction: open the store itself',
  stats: 'ask the server: GET /v1/statistics',
  diagnose: 'ask the server: GET /v1/diagnosis',
  watchLeasable: 'the server wakes workers that wait at it: call lease with wait',
  knownQuota: 'ask the server: call getQuota',
  bounded: 'its calls go over HTTP, and each takes timeout and signal',
  deliveries: 'the deliveries run in the server: see its metrics',
  edit: 'send PATCH /v1/timers/{kind}/{key}: client.operator.edit does it',
  changeEach: 'call moveMany and cancelMany',
  kindsHere: 'call the overview of the server',
  setCounts: 'call the series of the server',
})

/** Makes each of them throw 'not-over-http', for programs that no compiler has checked. */
export function refuseLocalOnly(prototype: object): void {
  for (const [name, text] of Object.entries(advice)) {
    Object.defineProperty(prototype, name, {
      configurable: true,
      get: () => {
        throw new StoreError('not-over-http', text)
      },
    })
  }
}
