import { describeClaims } from './cases/ending/claims.js'
import { describeCluster } from './cases/cluster/cluster.js'
import { describeConcurrency } from './cases/cluster/concurrency.js'
import { describeConditions } from './cases/timers/conditions.js'
import { describeFences } from './cases/cluster/fences.js'
import { describeFields } from './cases/timers/fields.js'
import { describeInbox } from './cases/cluster/inbox.js'
import { describeLifecycle } from './cases/lifecycle.js'
import { describeList } from './cases/timers/list.js'
import { describeLoad } from './cases/timers/load.js'
import { describeMail } from './cases/cluster/mail.js'
import { describeModel } from './model/describe-model.js'
import { describeNames } from './cases/timers/names.js'
import { describeNotes } from './cases/notes.js'
import { describeOutcomes } from './cases/ending/outcomes.js'
import { describePlainSets } from './cases/timers/set-columns.js'
import { describeRecords } from './cases/timers/records.js'
import { describeSettle } from './cases/ending/settle.js'
import { describeShards } from './cases/cluster/shards.js'
import { type OpenContractStore, type StoreContractOptions, Suite } from './suite.js'
import { describeSweep } from './cases/ending/sweep.js'
import { describeWrite } from './cases/timers/write.js'

const chapters: readonly (readonly [title: string, describe: (suite: Suite) => void])[] = [
  ['lifecycle', describeLifecycle],
  ['shards', describeShards],
  ['fences', describeFences],
  ['load', describeLoad],
  ['write', describeWrite],
  ['plain sets', describePlainSets],
  ['conditions', describeConditions],
  ['notes', describeNotes],
  ['settle', describeSettle],
  ['sweep', describeSweep],
  ['outcomes', describeOutcomes],
  ['inbox', describeInbox],
  ['claims', describeClaims],
  ['list', describeList],
  ['records', describeRecords],
  ['names', describeNames],
  ['fields', describeFields],
  ['cluster', describeCluster],
  ['mail', describeMail],
  ['concurrency', describeConcurrency],
  ['model', describeModel],
]

/**
 * Tests a store against the contract, as cases of your test runner: every clause of `Store`, and 100,000 random
 * operations compared with a model. Each case opens a new store on a virtual clock.
 *
 * Proven by test/testing/planted-faults.test.ts: stores with a planted fault must fail the right case.
 *
 *     describeStoreContract('mine', (options) => MyStore.open(options), { runner: { describe, it } })
 */
export function describeStoreContract(
  name: string,
  open: OpenContractStore,
  options: StoreContractOptions = {},
): void {
  const suite = new Suite(open, options)
  suite.group(`store contract: ${name}`, () => {
    for (const [title, describeChapter] of chapters) suite.group(title, () => describeChapter(suite))
  })
}
