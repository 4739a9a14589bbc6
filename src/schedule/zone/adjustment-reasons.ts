import { DAY_S } from '../calendar/calendar.js'
import type { Pattern } from '../calendar/pattern.js'
import type { WallClock } from './wall-clock.js'
import { formatDay, formatOffset, formatTime } from './wall-text.js'

const MAX_REASONS = 3

// More than the 60 minutes of a missing hour. A denser pattern is summed up as "many".
const MAX_CHECKED = 100

/**
 * Explains why the occurrence at `at` is not simply the local time that was written. `after` is the
 * occurrence before it; both are epoch seconds. It names missing local times that moved to `at` or were
 * skipped, and says which of two equal local times this is.
 */
export function adjustmentReasons(clock: WallClock, after: number, at: number): string[] {
  const { zone, pattern } = clock
  const { offset } = zone.segmentAt(at)
  const local = at + offset
  const missing = missingTimes(clock, after, at)
  const reasons = missing.slice(0, MAX_REASONS).map((time) => {
    const outcome = clock.gap === 'skip' ? 'skipped' : landing(time, local)
    return `${formatTime(timeOf(time))} does not exist on ${formatDay(dayOf(time))} in ${zone.name}: ${outcome}`
  })
  if (missing.length > MAX_REASONS) {
    const rest = missing.length < MAX_CHECKED ? String(missing.length - MAX_REASONS) : 'many'
    reasons.push(`and ${rest} more local times that do not exist there`)
  }
  const { instants } = zone.locate(local)
  if (instants.length > 1 && pattern.firstFrom(local) === local) {
    const which = instants[0] === at ? 'first' : 'second'
    const counted = clock.overlap === 'both' ? `both count, this is the ${which}` : `the ${which}`
    reasons.push(
      `${formatTime(timeOf(local))} comes twice on ${formatDay(dayOf(local))} in ${zone.name}: ` +
        `${counted}, at UTC${formatOffset(offset)}`,
    )
  }
  return reasons
}

/**
 * Returns the pattern's local times that do not exist and either moved to `at` or were skipped on the way
 * there.
 */
function missingTimes(clock: WallClock, after: number, at: number): number[] {
  const { zone, pattern, gap } = clock
  const segment = zone.segmentAt(at)
  const gapStart = segment.start + segment.offsetBefore
  const gapEnd = segment.start + segment.offset
  if (gap === 'next') return segment.start === at ? localsOf(pattern, gapStart, gapEnd) : []
  if (gap === 'shift') {
    const asWritten = at + segment.offsetBefore
    return asWritten < gapEnd ? localsOf(pattern, asWritten, asWritten + 1) : []
  }
  const between = localsOf(pattern, after + zone.segmentAt(after).offset + 1, at + segment.offset)
  return between.filter((local) => zone.locate(local).instants.length === 0)
}

function localsOf(pattern: Pattern, from: number, untilExclusive: number): number[] {
  const locals: number[] = []
  let local = from - 1
  while (locals.length < MAX_CHECKED) {
    local = pattern.firstFrom(local + 1)
    if (!(local < untilExclusive)) break
    locals.push(local)
  }
  return locals
}

function landing(missing: number, local: number): string {
  const time = formatTime(timeOf(local))
  return dayOf(missing) === dayOf(local) ? time : `${time} on ${formatDay(dayOf(local))}`
}

function dayOf(local: number): number {
  return Math.floor(local / DAY_S)
}

function timeOf(local: number): number {
  return local - dayOf(local) * DAY_S
}
