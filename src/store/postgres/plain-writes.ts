import { NewTimers } from '../new-timers.js'
import { PlainWrite } from '../plain-sets.js'
import type { Fence, Operation, OwnerWrite, SetOperation, WriteAnswer } from '../store.js'
import { listOf, sent } from './answer-row.js'
import { int8Array, int8s } from './binary-array.js'
import type { Database } from './database.js'
import { fenceColumns, firstOfShards, JointCalls } from './joint-calls.js'
import { ColumnGroup, OperationGroup, plainColumns, type PlainGroup } from './plain-columns.js'
import { dollars } from './postgres-claims.js'

interface PlainCall {
  readonly fence: Fence
  readonly write: OwnerWrite
  readonly sets: PlainGroup
}

// Enough for the server to work in bulk, and few enough for several connections to share a large batch.
const MOST_UNDER_WAY = 4
const MOST_WEIGHT = 4 << 20
/** What a row weighs besides its payload: so 2,500 rows of hardly any payload go together. */
const ROW_WEIGHT = (4 << 20) / 2500

const INSERT = `select ${sent(['bases', 'read_positions', 'read_revisions'])} from S.insert_plain(${dollars(22)})`

/**
 * Plain writes of an owner, inserted for many shards by one statement. It costs a fraction of judging each operation,
 * and asks for names that are free: a shard whose fence, inbox or level is against it, and all of them when a name
 * is taken after all, are left untouched and have to be written one by one.
 */
export class PlainWrites {
  readonly #database: Database
  readonly #calls: JointCalls<PlainCall, WriteAnswer | undefined>

  constructor(database: Database) {
    this.#database = database
    this.#calls = new JointCalls({
      send: (calls) => this.#send(calls),
      mostUnderWay: MOST_UNDER_WAY,
      weightOf: ({ sets }) => sets.payloadBytes + sets.length * ROW_WEIGHT,
      mostWeight: MOST_WEIGHT,
    })
  }

  /** Undefined when nothing was written, also because it is no plain write. */
  async write(fence: Fence, write: OwnerWrite): Promise<WriteAnswer | undefined> {
    const sets = groupOf(write)
    return sets === undefined ? undefined : await this.#calls.call({ fence, write, sets })
  }

  async #send(calls: readonly PlainCall[]): Promise<readonly (WriteAnswer | undefined)[]> {
    const groups = firstOfShards(calls)
    const [row] = await this.#database.write('write', INSERT, parametersOf(groups))
    const bases = int8s(listOf(row!, 'bases'))
    const positions = int8s(listOf(row!, 'read_positions'))
    const revisions = int8s(listOf(row!, 'read_revisions'))
    let number = 0
    return calls.map((call) => {
      if (groups[number] !== call) return undefined
      const at = number++
      const base = bases[at]!
      if (base < 0) return undefined
      const readLevel = { position: positions[at]!, revision: revisions[at]! }
      return new NewTimers(call.write, base + 1, readLevel)
    })
  }
}

/** What a write sets, where it is nothing but sets with nothing about them but that their names may be taken. */
function groupOf(write: OwnerWrite): PlainGroup | undefined {
  if (write instanceof PlainWrite) return new ColumnGroup(write)
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
    ...fenceColumns(groups),
    int8Array(groups, ({ write }) => (write.ifInboxEmpty === true ? 1 : 0)),
    int8Array(groups, ({ sets }) => sets.length),
    int8Array(groups, ({ sets }) => (begin += sets.length) - sets.length),
    int8Array(groups, ({ sets }) => sets.least),
    ...plainColumns(groups.map(({ sets }) => sets)),
  ]
}
