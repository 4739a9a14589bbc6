import type { FollowUp } from '../../../store/index.js'
import type { Outcome } from '../../../timer/index.js'
import { endedAttempts, type Life, lifeText } from '../world/life.js'
import type { Journal } from './journal.js'

/** How a settlement continues a row. `isOfDead`: the occurrence before became a dead letter. */
export type Progress = Omit<FollowUp, 'row'> & { readonly isOfDead?: boolean }

/** A follow-up must be what an attempt reported: the next occurrence, or a retry of this one. */
export function checkFollowUp(journal: Journal, life: Life, followUp: Progress, process: number): void {
  const { version } = life
  const ended = endedAttempts(life, process)
  const isNext = followUp.occurrence !== version.occurrence
  const isExplained = isNext
    ? followUp.occurrence === version.occurrence + 1 &&
      ended.some(({ outcome }) => nextDueAt(outcome, followUp.isOfDead === true) === followUp.dueAt)
    : followUp.dueAt === version.dueAt ||
      ended.some(({ outcome }) => outcome?.type === 'retry' && outcome.dueAt === followUp.dueAt)
  if (!isExplained) {
    journal.violated(
      11,
      `${lifeText(life)} got a follow-up that no attempt reported: due ${followUp.dueAt}, occurrence ${followUp.occurrence}`,
    )
  }
  if (life.lastAttempt !== undefined && (isNext || followUp.dueAt !== version.dueAt)) {
    journal.violated(4, `${lifeText(life)} was cancelled while it fired, and got a follow-up`)
  }
  if (!isNext && followUp.attempt < version.attempt) {
    journal.violated(11, `${lifeText(life)} was set back to attempt ${followUp.attempt}`)
  }
}

/** Marks the attempts whose outcome is now in the store: not if the row was only carried, put back or marked suspect. */
export function noteSettledAttempts(life: Life, followUp: Progress, process: number): void {
  const isNext = followUp.occurrence !== life.version.occurrence
  for (const attempt of endedAttempts(life, process)) {
    const { outcome } = attempt
    if (isNext || (outcome?.type === 'retry' && outcome.dueAt === followUp.dueAt)) attempt.isSettled = true
  }
  if (isNext) life.unexplained = 0
}

/** Whether a follow-up changes nothing but the position. */
export function isOnlyMoved({ row, dueAt, attempt, occurrence }: FollowUp): boolean {
  return dueAt === row.dueAt && attempt === row.attempt && occurrence === row.occurrence
}

/** When the next occurrence is due, if the handler said so. */
function nextDueAt(outcome: Outcome | undefined, isOfDead: boolean): number | undefined {
  if (isOfDead) return outcome?.type === 'dead' ? outcome.next?.dueAt : undefined
  return outcome?.type === 'next' ? outcome.dueAt : undefined
}
