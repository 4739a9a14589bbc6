import type { Fence, OperationAnswer, OwnerWrite, WriteAnswer } from '../store.js'
import { listOf, sent } from './answer-row.js'
import { int8Array, int8s, ListWriter } from './binary-array.js'
import type { Database } from './database.js'
import type { Row } from './driver.js'
import { fenceColumns, firstOfShards, JointCalls } from './joint-calls.js'
import { writeAnswerColumns, WriteBatch } from './write-batch.js'
import { dollars } from './postgres-claims.js'

interface OwnerCall {
  readonly fence: Fence
  readonly write: OwnerWrite
}

const MOST_UNDER_WAY = 4
const MOST_WEIGHT = 4 << 20
/** What an operation weighs besides its payload. */
const OPERATION_WEIGHT = 2048

const WRITE_OWNED = `select ${sent([
  'bases',
  'read_positions',
  'read_revisions',
  'settled_positions',
  'settled_revisions',
])}, ${writeAnswerColumns} from S.write_owned(${dollars(40)})`

/**
 * Writes of owners, whatever they say, carried out for many shards by one statement. A shard whose fence or inbox is
 * against it is left untouched, and has to be written alone, which says why.
 */
export class OwnerWrites {
  readonly #database: Database
  readonly #now: () => number | null
  readonly #calls: JointCalls<OwnerCall, WriteAnswer | undefined>

  constructor(database: Database, now: () => number | null) {
    this.#database = database
    this.#now = now
    this.#calls = new JointCalls({
      send: (calls) => this.#sendTogether(calls),
      mostUnderWay: MOST_UNDER_WAY,
      weightOf: ({ write }) => weightOf(write),
      mostWeight: MOST_WEIGHT,
    })
  }

  async write(fence: Fence, write: OwnerWrite): Promise<WriteAnswer> {
    const call = { fence, write }
    // History belongs to its write alone.
    const isAlone = write.operations.length === 0 || (write.history ?? []).length > 0
    const answer = isAlone ? undefined : await this.#calls.call(call)
    if (answer !== undefined) return answer
    const [alone] = await this.#send([call], true)
    return alone!
  }

  async #sendTogether(calls: readonly OwnerCall[]): Promise<readonly (WriteAnswer | undefined)[]> {
    const groups = firstOfShards(calls)
    const answers = await this.#send(groups, false)
    let number = 0
    return calls.map((call) => (groups[number] === call ? answers[number++] : undefined))
  }

  async #send(groups: readonly OwnerCall[], isAlone: boolean): Promise<readonly (WriteAnswer | undefined)[]> {
    const operations = groups.flatMap(({ write }) => write.operations)
    const batch = new WriteBatch({ operations, history: isAlone ? (groups[0]!.write.history ?? []) : [] })
    const begins: number[] = []
    const groupOf = new Uint32Array(operations.length)
    const numbers = ListWriter.ofInt8(operations.length)
    for (const [group, { write }] of groups.entries()) {
      const begin = begins.length === 0 ? 0 : begins.at(-1)! + groups[group - 1]!.write.operations.length
      begins.push(begin)
      groupOf.fill(group, begin, begin + write.operations.length)
      for (let i = 0; i < write.operations.length; i++) numbers.addNumber(group + 1)
    }
    const [row] = await this.#database.write('write', WRITE_OWNED, [
      this.#now(),
      isAlone ? 1 : 0,
      ...fenceColumns(groups),
      int8Array(groups, ({ write }) => (write.ifInboxEmpty === true ? 1 : 0)),
      int8Array(groups, (_, group) => begins[group]),
      ...batch.parameters(numbers.done()),
    ])
    return answersOf(groups, batch, row!, begins, groupOf)
  }
}

/** What a statement answered, to each of its writes; undefined for one that was passed by. */
function answersOf(
  groups: readonly OwnerCall[],
  batch: WriteBatch,
  row: Row,
  begins: readonly number[],
  groupOf: Uint32Array,
): (WriteAnswer | undefined)[] {
  const bases = int8s(listOf(row, 'bases'))
  const readPositions = int8s(listOf(row, 'read_positions'))
  const readRevisions = int8s(listOf(row, 'read_revisions'))
  const settledPositions = int8s(listOf(row, 'settled_positions'))
  const settledRevisions = int8s(listOf(row, 'settled_revisions'))
  const answers: readonly OperationAnswer[] = batch.answers(row, {
    revisionOf: (index) => bases[groupOf[index]!]! + index - begins[groupOf[index]!]! + 1,
    settledLevelOf: (index) => ({
      position: settledPositions[groupOf[index]!]!,
      revision: settledRevisions[groupOf[index]!]!,
    }),
  })
  return groups.map(({ write }, group) => {
    if (bases[group]! < 0) return undefined
    const begin = begins[group]!
    return {
      answers: answers.slice(begin, begin + write.operations.length),
      readLevel: { position: readPositions[group]!, revision: readRevisions[group]! },
    }
  })
}

function weightOf({ operations }: OwnerWrite): number {
  return operations.reduce(
    (sum, operation) => sum + (operation.type === 'set' ? operation.payload.length : 0),
    operations.length * OPERATION_WEIGHT,
  )
}
