import type { Fence, OperationAnswer, OwnerWrite, WriteAnswer } from '../../store.js'
import { arrayOf, sentArrays } from '../codec/answer-row.js'
import { int8Array, int8Values, ArrayWriter } from '../codec/binary-array.js'
import { fenceColumns, placeholders } from '../codec/parameters.js'
import { writeAnswerColumns, WriteBatch } from '../codec/write-batch.js'
import { MAX_STATEMENTS, MAX_WRITE_BYTES, OPERATION_BYTES } from '../defaults.js'
import type { Database } from '../net/database.js'
import type { Row } from '../net/driver.js'
import { CallCoalescer, firstOfEachShard } from './call-coalescer.js'

interface OwnerCall {
  readonly fence: Fence
  readonly write: OwnerWrite
}

const WRITE_OWNED = `select ${sentArrays([
  'bases',
  'read_positions',
  'read_revisions',
  'settled_positions',
  'settled_revisions',
])}, ${writeAnswerColumns} from S.write_owned(${placeholders(40)})`

/**
 * Writes of owners with any operations, carried out for many shards by one statement. A shard whose fence does not
 * hold, or whose inbox is not empty, is skipped. Its write is then sent alone, which reports the reason.
 *
 * Proven by test/store/postgres/shared-statements.test.ts.
 */
export class OwnerWrites {
  readonly #database: Database
  readonly #now: () => number | null
  readonly #calls: CallCoalescer<OwnerCall, WriteAnswer | undefined>

  constructor(database: Database, now: () => number | null) {
    this.#database = database
    this.#now = now
    this.#calls = new CallCoalescer({
      send: (calls) => this.#sendTogether(calls),
      maxInFlight: MAX_STATEMENTS,
      weightOf: ({ write }) => bytesOf(write),
      maxWeight: MAX_WRITE_BYTES,
    })
  }

  async write(fence: Fence, write: OwnerWrite): Promise<WriteAnswer> {
    const call = { fence, write }
    // The statement for many shards takes no history.
    const isAlone = write.operations.length === 0 || (write.history ?? []).length > 0
    const answer = isAlone ? undefined : await this.#calls.call(call)
    if (answer !== undefined) return answer
    const [alone] = await this.#send([call], true)
    return alone!
  }

  async #sendTogether(calls: readonly OwnerCall[]): Promise<readonly (WriteAnswer | undefined)[]> {
    const groups = firstOfEachShard(calls)
    const answers = await this.#send(groups, false)
    let number = 0
    return calls.map((call) => (groups[number] === call ? answers[number++] : undefined))
  }

  async #send(groups: readonly OwnerCall[], isAlone: boolean): Promise<readonly (WriteAnswer | undefined)[]> {
    const operations = groups.flatMap(({ write }) => write.operations)
    const batch = new WriteBatch({ operations, history: isAlone ? (groups[0]!.write.history ?? []) : [] })
    const begins: number[] = []
    const groupOf = new Uint32Array(operations.length)
    const numbers = ArrayWriter.ofInt8(operations.length)
    for (const [group, { write }] of groups.entries()) {
      const begin = begins.length === 0 ? 0 : begins.at(-1)! + groups[group - 1]!.write.operations.length
      begins.push(begin)
      groupOf.fill(group, begin, begin + write.operations.length)
      for (let i = 0; i < write.operations.length; i++) numbers.addNumber(group + 1)
    }
    const [row] = await this.#database.write('write', WRITE_OWNED, [
      this.#now(),
      isAlone ? 1 : 0,
      ...fenceColumns(groups.map(({ fence }) => fence)),
      int8Array(groups, ({ write }) => (write.ifInboxEmpty === true ? 1 : 0)),
      int8Array(groups, (_, group) => begins[group]),
      ...batch.parameters(numbers.done()),
    ])
    return answersOf(groups, batch, row!, begins, groupOf)
  }
}

/** The answer to each write of a statement; undefined for a shard that was skipped. */
function answersOf(
  groups: readonly OwnerCall[],
  batch: WriteBatch,
  row: Row,
  begins: readonly number[],
  groupOf: Uint32Array,
): (WriteAnswer | undefined)[] {
  const bases = int8Values(arrayOf(row, 'bases'))
  const readPositions = int8Values(arrayOf(row, 'read_positions'))
  const readRevisions = int8Values(arrayOf(row, 'read_revisions'))
  const settledPositions = int8Values(arrayOf(row, 'settled_positions'))
  const settledRevisions = int8Values(arrayOf(row, 'settled_revisions'))
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

function bytesOf({ operations }: OwnerWrite): number {
  return operations.reduce(
    (sum, operation) => sum + (operation.type === 'set' ? operation.payload.length : 0),
    operations.length * OPERATION_BYTES,
  )
}
