import { NewTimers } from '../../new-timers.js'
import { SetColumnsWrite } from '../../set-columns.js'
import type { Fence, Operation, OwnerWrite, SetOperation, WriteAnswer } from '../../store.js'
import { arrayOf, sentArrays } from '../codec/answer-row.js'
import { int8Array, int8Values } from '../codec/binary-array.js'
import { fenceColumns, placeholders } from '../codec/parameters.js'
import { ColumnGroup, OperationGroup, plainColumns, type PlainGroup } from '../codec/plain-columns.js'
import { MAX_STATEMENTS, MAX_WRITE_BYTES, PLAIN_SET_BYTES } from '../defaults.js'
import type { Database } from '../net/database.js'
import { CallCoalescer, firstOfEachShard } from './call-coalescer.js'

interface PlainCall {
  readonly fence: Fence
  readonly write: OwnerWrite
  readonly sets: PlainGroup
}

const INSERT = `select ${sentArrays(['bases', 'read_positions', 'read_revisions'])} from S.insert_plain(${placeholders(22)})`

/**
 * Plain sets of an owner, inserted for many shards by one statement. That costs a fraction of judging each operation,
 * but it works only for free names. A shard is skipped if its fence, inbox or level does not match. If any name is
 * taken, all shards are skipped. `OwnerWrites` must then write them.
 *
 * Proven by test/store/postgres/shared-statements.test.ts.
 */
export class PlainWrites {
  readonly #database: Database
  readonly #calls: CallCoalescer<PlainCall, WriteAnswer | undefined>

  constructor(database: Database) {
    this.#database = database
    this.#calls = new CallCoalescer({
      send: (calls) => this.#send(calls),
      maxInFlight: MAX_STATEMENTS,
      weightOf: ({ sets }) => sets.payloadBytes + sets.length * PLAIN_SET_BYTES,
      maxWeight: MAX_WRITE_BYTES,
    })
  }

  /** Undefined if nothing was written: the shard was skipped, or the write is more than plain sets. */
  async write(fence: Fence, write: OwnerWrite): Promise<WriteAnswer | undefined> {
    const sets = groupOf(write)
    return sets === undefined ? undefined : await this.#calls.call({ fence, write, sets })
  }

  async #send(calls: readonly PlainCall[]): Promise<readonly (WriteAnswer | undefined)[]> {
    const groups = firstOfEachShard(calls)
    const [row] = await this.#database.write('write', INSERT, parametersOf(groups))
    const bases = int8Values(arrayOf(row!, 'bases'))
    const positions = int8Values(arrayOf(row!, 'read_positions'))
    const revisions = int8Values(arrayOf(row!, 'read_revisions'))
    let number = 0
    return calls.map((call) => {
      if (groups[number] !== call) return undefined
      const group = number++
      const base = bases[group]!
      if (base < 0) return undefined
      const readLevel = { position: positions[group]!, revision: revisions[group]! }
      return new NewTimers(call.write, base + 1, readLevel)
    })
  }
}

/** The sets of a write, if it is nothing but sets that need at most a free name; else undefined. */
function groupOf(write: OwnerWrite): PlainGroup | undefined {
  if (write instanceof SetColumnsWrite) return new ColumnGroup(write)
  const { operations, history = [] } = write
  if (operations.length === 0 || history.length > 0 || !operations.every(isPlainSet)) return undefined
  return new OperationGroup(operations)
}

function isPlainSet(operation: Operation): operation is SetOperation {
  return (
    operation.type === 'set' &&
    operation.ifRevision === undefined &&
    operation.fromDead === undefined &&
    operation.request === undefined &&
    operation.note === undefined
  )
}

function parametersOf(groups: readonly PlainCall[]): unknown[] {
  let begin = 0
  return [
    ...fenceColumns(groups.map(({ fence }) => fence)),
    int8Array(groups, ({ write }) => (write.ifInboxEmpty === true ? 1 : 0)),
    int8Array(groups, ({ sets }) => sets.length),
    int8Array(groups, ({ sets }) => (begin += sets.length) - sets.length),
    int8Array(groups, ({ sets }) => sets.lowestPosition),
    ...plainColumns(groups.map(({ sets }) => sets)),
  ]
}
