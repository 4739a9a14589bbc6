import { nameKey } from '../../../timer/index.js'
import type { Operation, OperationAnswer } from '../../store.js'
import { PackedColumn } from './packed-column.js'
import type { Packer } from './packer.js'
import { packNote, parseLetterId } from './record-codec.js'
import { PLACE_DIGITS, parsePlace, positionAt, revisionAt, rowVersionAt } from './place-codec.js'
import { packRow, rowWith } from './row-codec.js'

const KIND = Object.freeze({ set: 1, move: 2, cancel: 3, answer: 4 })
// For a move, the same flag says that it keeps the row claim.
const IF_ABSENT = 8
const WHILE_FIRING = IF_ABSENT
const IF_REVISION = 16
const IDENTITY = 32
const ATTEMPT = 64
const DETAILS = 128
const FROM_DEAD = 256

const ENTRY_BYTES = PLACE_DIGITS + 8

/**
 * Operations as arguments of the script `write`, one MessagePack array per column: kinds with flags, names, positions,
 * identities, values, extras. Extras are what only few operations have. That column is an empty string when none has any.
 */
export function packOperations(operations: readonly Operation[], shard: number): (Buffer | string)[] {
  const { length } = operations
  const kinds = new PackedColumn(length, 3)
  const names = new PackedColumn(length, 40)
  const positions = new PackedColumn(length, 9)
  const identities = new PackedColumn(length, 10)
  const values = new PackedColumn(length, 200)
  const extras = new PackedColumn(length, 1)
  let hasExtras = false
  for (const operation of operations) {
    kinds.addUint16(flagsOf(operation))
    names.addString(operation.type === 'answer' ? '' : nameKey(operation))
    const { type } = operation
    positions.addDouble(type === 'set' || type === 'move' ? operation.position : 0)
    identities.addDoubleBytes(type === 'answer' ? 0 : (operation.identity ?? 0))
    if (type === 'set') values.addBlock((packer) => packRow(packer, operation))
    else values.addString((type === 'move' ? operation.details : undefined) ?? '')
    if (hasExtra(operation)) {
      hasExtras = true
      extras.addBlock((packer) => packExtra(packer, operation, shard))
    } else extras.addString('')
  }
  const columns = [kinds, names, positions, identities, values].map((column) => column.done())
  return [...columns, hasExtras ? extras.done() : '']
}

/** The kind of an operation, with flags for the conditions and changes that it has. */
function flagsOf(operation: Operation): number {
  if (operation.type === 'answer') return KIND.answer
  let kind: number = KIND[operation.type]
  if (operation.ifRevision !== undefined) kind |= IF_REVISION
  if (operation.type === 'set') {
    if (operation.ifAbsent === true) kind |= IF_ABSENT
    if (operation.fromDead !== undefined) kind |= FROM_DEAD
    return kind
  }
  if (operation.identity !== undefined) kind |= IDENTITY
  if (operation.type === 'move') {
    if (operation.attempt !== undefined) kind |= ATTEMPT
    if (operation.details !== undefined) kind |= DETAILS
    if (operation.whileFiring === true) kind |= WHILE_FIRING
  }
  return kind
}

function hasExtra(operation: Operation): boolean {
  if (operation.type === 'answer' || operation.type === 'move') return true
  return (
    operation.request !== undefined ||
    operation.note !== undefined ||
    operation.ifRevision !== undefined ||
    (operation.type === 'set' && operation.fromDead !== undefined)
  )
}

/** What few operations have: a due time, a condition, the request they answer, the dead letter they take, a note. */
function packExtra(packer: Packer, operation: Operation, shard: number): void {
  packer.double(operation.type === 'move' ? operation.dueAt : 0)
  packer.double((operation.type === 'answer' ? undefined : operation.ifRevision) ?? 0)
  packer.int(numberOf(operation)).stringAfterByte(operation.request ?? '')
  // A dead letter is in the shard of its name. A letter of another shard cannot be taken: '-' matches no letter.
  const fromDead = operation.type === 'set' ? operation.fromDead : undefined
  const letter = fromDead === undefined ? undefined : parseLetterId(fromDead)
  packer.stringAfterByte(letter?.shard === shard ? letter.number : '-')
  if (operation.type === 'answer' || operation.note === undefined) packer.double(0).int(0)
  else {
    packer.double(operation.note.at)
    packNote(packer, operation, operation.note)
  }
}

/** The attempts to record with a move, or the code of the outcome in an owner's answer. */
function numberOf(operation: Operation): number {
  if (operation.type === 'answer') {
    return { firing: 'f', settled: 'd', unknown: 'u' }[operation.outcome].charCodeAt(0)
  }
  return operation.type === 'move' ? (operation.attempt ?? 0) : 0
}

/** Parses the script's answers, one for each operation. */
export function parseAnswers(
  operations: readonly Operation[],
  bytes: Buffer,
  settled: string,
  lastRevision: number,
): OperationAnswer[] {
  // Each row that was written got the next revision.
  let revision = lastRevision
  const answers = new Array<OperationAnswer>(operations.length)
  let at = 0
  for (let index = 0; index < operations.length; index++) {
    const letter = String.fromCharCode(bytes[at++]!)
    const operation = operations[index]!
    switch (letter) {
      case 's':
        answers[index] = {
          outcome: 'set',
          place: { position: positionOf(operation), revision: ++revision },
          replaced: undefined,
        }
        break
      case 'R':
        answers[index] = {
          outcome: 'set',
          place: { position: positionOf(operation), revision: ++revision },
          replaced: rowVersionAt(bytes, at),
        }
        at += ENTRY_BYTES
        break
      case 'S':
        answers[index] = { outcome: 'same', current: rowVersionAt(bytes, at) }
        at += ENTRY_BYTES
        break
      case 'C':
        answers[index] = { outcome: 'conflict', current: rowVersionAt(bytes, at) }
        at += ENTRY_BYTES
        break
      case 'X':
        answers[index] = { outcome: 'cancelled', removed: rowVersionAt(bytes, at) }
        at += ENTRY_BYTES
        break
      case 'M': {
        const valueAt = at + ENTRY_BYTES + 4
        const end = valueAt + bytes.readUInt32LE(valueAt - 4)
        answers[index] = {
          outcome: 'moved',
          from: { position: positionAt(bytes, at), revision: revisionAt(bytes, at) },
          row: rowWith(
            { position: positionOf(operation), revision: ++revision },
            bytes.subarray(valueAt, end),
          ),
        }
        at = end
        break
      }
      case 'L':
        answers[index] = { outcome: 'below-level', settledLevel: parsePlace(settled) }
        break
      default:
        answers[index] = fixedAnswers[letter]!
    }
  }
  return answers
}

const fixedAnswers: Readonly<Record<string, OperationAnswer>> = Object.freeze({
  c: Object.freeze({ outcome: 'conflict', current: undefined }),
  u: Object.freeze({ outcome: 'unknown' }),
  f: Object.freeze({ outcome: 'firing' }),
  d: Object.freeze({ outcome: 'settled' }),
  b: Object.freeze({ outcome: 'answered-before' }),
  x: Object.freeze({ outcome: 'expired' }),
})

function positionOf(operation: Operation): number {
  return operation.type === 'set' || operation.type === 'move' ? operation.position : 0
}
