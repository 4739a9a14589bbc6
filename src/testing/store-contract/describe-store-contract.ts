import { describeClaims } from './claims.js'
import { describeCluster } from './cluster.js'
import { describeConcurrency } from './concurrency.js'
import { describeConditions } from './conditions.js'
import { describeFences } from './fences.js'
import { describeInbox } from './inbox.js'
import { describeLifecycle } from './lifecycle.js'
import { describeList } from './list.js'
import { describeLoad } from './load.js'
import { describeModel } from './model/describe-model.js'
import { describeNames } from './names.js'
import { describeNotes } from './notes.js'
import { describePlainSets } from './plain-sets.js'
import { describeRecords } from './records.js'
import { describeSettle } from './settle.js'
import { describeShards } from './shards.js'
import { type OpenContractStore, type StoreContractOptions, Suite } from './suite.js'
import { describeSweep } from './sweep.js'
import { describeWrite } from './write.js'

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
  ['inbox', describeInbox],
  ['claims', describeClaims],
  ['list', describeList],
  ['records', describeRecords],
  ['names', describeNames],
  ['cluster', describeCluster],
  ['concurrency', describeConcurrency],
  ['model', describeModel],
]

/**
 * The proof of the store contract for one backend, as cases of your test runner: every clause of `Store`, and
 * 100,000 random operations compared with a model. Each case opens a fresh store on a virtual clock.
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
