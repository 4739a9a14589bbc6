import type { InboxRequest, Operation, ShardRow } from '../../../store/index.js'
import type { Place } from '../../../timer/index.js'
import type { Commit } from './commit.js'

/** A commit as a line of the trace. Positions show only their last seven digits. */
export function commitText(commit: Commit): string {
  switch (commit.name) {
    case 'acquire':
      return commit.answer === undefined
        ? `claim s${commit.args[0].shard} fails`
        : `claims ${rowText(commit.answer)}`
    case 'renew':
      return `renews ${rowText(commit.answer)}`
    case 'refence':
      return `refences ${rowText(commit.answer)}`
    case 'release':
      return `releases s${commit.args[0].shard}`
    case 'load': {
      const { page, readLevel, nextPosition } = commit.answer
      const rows = Array.from({ length: page.size }, (_, index) => page.row(index))
      return `${under(commit.args[0])} loads ${rows.map((row) => `${row.identity}@${placeText(row)}`).join(' ') || 'nothing'}, read ${placeText(readLevel)}, next ${nextPosition === undefined ? 'none' : short(nextPosition)}`
    }
    case 'lower':
      return `${under(commit.args[0])} lowers ${placeText(commit.args[1])} to ${placeText(commit.args[2])}`
    case 'write': {
      const { operations } = commit.args[1]
      const parts = operations.map((operation, index) => {
        const answer = commit.answer.answers[index]!
        const place =
          answer.outcome === 'set'
            ? `@${placeText(answer.place)}`
            : answer.outcome === 'moved'
              ? ` ${answer.row.identity}@${placeText(answer.row)}`
              : ''
        return `${operationText(operation)}=${answer.outcome}${place}`
      })
      return `${under(commit.args[0])} writes ${parts.join(', ')}; read ${placeText(commit.answer.readLevel)}`
    }
    case 'settle': {
      const [fence, { id, level, settledCount, done, followUps, dead }] = commit.args
      const follow = followUps.map((followUp, index) => {
        const row = commit.answer.followUps[index]
        return `${followUp.row.identity}r${followUp.row.revision}->${row === undefined ? 'gone' : `${placeText(row)} o${row.occurrence} a${row.attempt}`}`
      })
      return `${under(fence)} settles #${id} to ${placeText(level)} count ${settledCount} done [${done.map((row) => row.identity).join(' ')}] follow [${follow.join(' ')}] dead [${dead.map(({ row }) => row.identity).join(' ')}]`
    }
    case 'sweep':
      return `${under(commit.args[0])} sweeps ${commit.answer.removed}`
    case 'append':
      return `appends ${commit.args[0].map((request, index) => `s${request.shard} ${request.id}:${askedText(request)}=${commit.answer[index]}`).join(', ')}`
    case 'heartbeat':
      return `heartbeat of ${commit.args[0].id}: ${commit.answer.members.map(({ id }) => id).join(' ')}`
    case 'removeMember':
      return `${commit.args[0]} leaves`
    case 'requests':
      return `${under(commit.args[0])} reads its inbox: ${commit.answer.map((request) => request.id).join(' ') || 'empty'}`
  }
}

function askedText({ operation }: InboxRequest): string {
  return operation.type === 'barrier'
    ? operation.type
    : `${operation.type} ${operation.identity ?? ''} ${operation.key}`
}

function rowText(row: ShardRow): string {
  return `s${row.shard} e${row.epoch} until ${short(row.leaseUntil)} read ${placeText(row.readLevel)} settled ${placeText(row.settledLevel)} #${row.lastSettlement}`
}

function under(fence: { readonly shard: number; readonly epoch: number } | undefined): string {
  return fence === undefined ? 'unfenced' : `s${fence.shard} e${fence.epoch}`
}

function operationText(operation: Operation): string {
  const request = operation.request === undefined ? '' : ` (${operation.request})`
  if (operation.type === 'answer') return `answer${request}`
  return `${operation.type} ${operation.identity ?? ''} ${operation.key}${request}`
}

function placeText(place: Place): string {
  return `${short(place.position)}/${place.revision}`
}

function short(position: number): string {
  return String(position).slice(6)
}
