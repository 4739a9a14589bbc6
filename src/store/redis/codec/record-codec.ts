import type { DeadLetter, HistoryEntry, HistoryNote } from '../../store.js'
import type { TimerName } from '../../../timer/index.js'
import type { Packer } from './packer.js'
import { PLACE_DIGITS } from './place-codec.js'
import { rowOf } from './row-codec.js'

const NUMBER_DIGITS = 12

/** A history entry as script argument: its time, the identity, and the note. */
export function packEntry(packer: Packer, entry: HistoryEntry): void {
  packer.double(entry.at).double(entry.identity)
  packNote(packer, entry, entry)
}

/** The note of a history entry, after its length: the time again, then the rest as JSON. */
export function packNote(packer: Packer, { namespace, kind, key }: TimerName, note: HistoryNote): void {
  packer.blockAfterInt(() => {
    packer.double(note.at)
    packer.string(JSON.stringify([namespace, kind, key, note.event, note.details]))
  })
}

/** Parses a history entry as it is stored: its number, the identity, its time, and the rest as JSON. */
export function parseEntry(member: Buffer): HistoryEntry {
  const [namespace, kind, key, event, details] = JSON.parse(member.toString('utf8', NUMBER_DIGITS + 16)) as [
    string,
    string,
    string,
    string,
    string,
  ]
  const identity = member.readDoubleLE(NUMBER_DIGITS)
  return { namespace, kind, key, identity, at: member.readDoubleLE(NUMBER_DIGITS + 8), event, details }
}

/** The head of a dead letter, after its length: time of death and reason. The script appends the row. */
export function packLetter(packer: Packer, { diedAt, reason }: { diedAt: number; reason: string }): void {
  packer.blockAfterInt(() => {
    packer.double(diedAt).blockAfterInt(() => packer.string(reason))
  })
}

export function parseLetter(shard: number, number: string, bytes: Buffer): DeadLetter {
  const rowFrom = 12 + bytes.readUInt32LE(8)
  const row = rowOf(bytes.subarray(rowFrom, rowFrom + PLACE_DIGITS), bytes.subarray(rowFrom + PLACE_DIGITS))
  return {
    id: letterId(shard, number),
    row,
    diedAt: bytes.readDoubleLE(0),
    reason: bytes.toString('utf8', 12, rowFrom),
  }
}

function letterId(shard: number, number: string): string {
  return `${shard}-${number}`
}

/** Shard and number of a dead letter. Undefined for a string that is not the id of one. */
export function parseLetterId(id: string): { readonly shard: number; readonly number: string } | undefined {
  const parts = /^(\d{1,4})-([0-9a-f]{12})$/.exec(id)
  return parts === null ? undefined : { shard: Number(parts[1]), number: parts[2]! }
}
