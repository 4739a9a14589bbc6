import { nameText } from '../../timer/index.js'
import type { Operation, OperationAnswer } from '../store.js'
import type { Packer } from './packer.js'
import { packNote, parseLetterId } from './record-codec.js'
import { PLACE_DIGITS, parsePlace, positionAt, revisionAt, standingAt } from './place-text.js'
import { packRow, rowAt } from './row-codec.js'

const KIND = Object.freeze({ set: 1, move: 2, cancel: 3, answer: 4 })
const IF_ABSENT = 1
const IF_REVISION = 2
const IDENTITY = 4
const ATTEMPT = 8
const DETAILS = 16
const FROM_DEAD = 32
const NOTE = 64

const ENTRY_BYTES = PLACE_DIGITS + 8

/** An operation as the script `write` unpacks it. */
export function packOperation(packer: Packer, operation: Operation, shard: number): void {
  if (operation.type === 'answer') {
    // The letter of the outcome stands where others have their attempts.
    const letter = { firing: 'f', settled: 'd', unknown: 'u' }[operation.outcome]
    packHead(packer, KIND.answer, 0, 0, 0, 0, 0, letter.charCodeAt(0))
    packer.short(0).int(0)
    packExtra(packer, operation, shard)
    return
  }
  const { type, identity = 0, ifRevision = 0 } = operation
  let flags = operation.ifRevision === undefined ? 0 : IF_REVISION
  if (operation.identity !== undefined) flags |= IDENTITY
  if (operation.note !== undefined) flags |= NOTE
  switch (operation.type) {
    case 'set':
      if (operation.ifAbsent === true) flags |= IF_ABSENT
      if (operation.fromDead !== undefined) flags |= FROM_DEAD
      packHead(packer, KIND[type], flags, operation.position, operation.dueAt, identity, ifRevision, 0)
      packer.textAfterShort(nameText(operation)).blockAfterInt(() => packRow(packer, operation))
      break
    case 'move': {
      const { position, dueAt, attempt, details } = operation
      if (attempt !== undefined) flags |= ATTEMPT
      if (details !== undefined) flags |= DETAILS
      packHead(packer, KIND[type], flags, position, dueAt, identity, ifRevision, attempt ?? 0)
      packer.textAfterShort(nameText(operation)).blockAfterInt(() => packer.text(details ?? ''))
      break
    }
    case 'cancel':
      packHead(packer, KIND[type], flags, 0, 0, identity, ifRevision, 0)
      packer.textAfterShort(nameText(operation)).int(0)
  }
  packExtra(packer, operation, shard)
}

function packHead(
  packer: Packer,
  kind: number,
  flags: number,
  position: number,
  dueAt: number,
  identity: number,
  ifRevision: number,
  attempt: number,
): void {
  packer
    .byte(kind)
    .short(flags)
    .double(position)
    .double(dueAt)
    .double(identity)
    .double(ifRevision)
    .int(attempt)
}

/** What few operations carry: the request they answer, the dead letter they take, a note. */
function packExtra(packer: Packer, operation: Operation, shard: number): void {
  const fromDead = operation.type === 'set' ? operation.fromDead : undefined
  const note = operation.type === 'answer' ? undefined : operation.note
  const { request } = operation
  if (request === undefined && fromDead === undefined && note === undefined) {
    packer.int(0)
    return
  }
  packer.blockAfterInt(() => {
    packer.textAfterByte(request ?? '')
    // A letter lies in the shard of its name; one of another shard is not there for this one.
    const letter = fromDead === undefined ? undefined : parseLetterId(fromDead)
    packer.textAfterByte(letter?.shard === shard ? letter.number : '-')
    if (note === undefined || operation.type === 'answer') packer.double(0).int(0)
    else {
      packer.double(note.at)
      packNote(packer, operation, note)
    }
  })
}

/** What the script answered, one for each operation. */
export function parseAnswers(
  operations: readonly Operation[],
  bytes: Buffer,
  settled: string,
): OperationAnswer[] {
  const answers = new Array<OperationAnswer>(operations.length)
  let at = 0
  for (let index = 0; index < operations.length; index++) {
    const letter = String.fromCharCode(bytes[at++]!)
    const operation = operations[index]!
    switch (letter) {
      case 's':
        answers[index] = {
          outcome: 'set',
          place: { position: positionIn(operation), revision: bytes.readDoubleLE(at) },
          replaced: undefined,
        }
        at += 8
        break
      case 'R':
        answers[index] = {
          outcome: 'set',
          place: { position: positionIn(operation), revision: bytes.readDoubleLE(at + ENTRY_BYTES) },
          replaced: standingAt(bytes, at),
        }
        at += ENTRY_BYTES + 8
        break
      case 'S':
        answers[index] = { outcome: 'same', standing: standingAt(bytes, at) }
        at += ENTRY_BYTES
        break
      case 'C':
        answers[index] = { outcome: 'conflict', standing: standingAt(bytes, at) }
        at += ENTRY_BYTES
        break
      case 'X':
        answers[index] = { outcome: 'cancelled', removed: standingAt(bytes, at) }
        at += ENTRY_BYTES
        break
      case 'M': {
        const valueAt = at + 2 * ENTRY_BYTES + 4
        const end = valueAt + bytes.readUInt32LE(valueAt - 4)
        answers[index] = {
          outcome: 'moved',
          from: { position: positionAt(bytes, at), revision: revisionAt(bytes, at) },
          row: rowAt(standingAt(bytes, at + ENTRY_BYTES), bytes.subarray(valueAt, end)),
        }
        at = end
        break
      }
      case 'L':
        answers[index] = { outcome: 'below-level', settledLevel: parsePlace(settled) }
        break
      default:
        answers[index] = plainAnswers[letter]!
    }
  }
  return answers
}

const plainAnswers: Readonly<Record<string, OperationAnswer>> = Object.freeze({
  c: Object.freeze({ outcome: 'conflict', standing: undefined }),
  u: Object.freeze({ outcome: 'unknown' }),
  f: Object.freeze({ outcome: 'firing' }),
  d: Object.freeze({ outcome: 'settled' }),
  b: Object.freeze({ outcome: 'answered-before' }),
  x: Object.freeze({ outcome: 'expired' }),
})

function positionIn(operation: Operation): number {
  return operation.type === 'set' ? operation.position : 0
}
