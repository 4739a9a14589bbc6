import { DAY_S } from './calendar.js'
import type { Pattern } from './pattern.js'
import type { WallClock } from './wall-clock.js'
import { formatDay, formatOffset, formatTime } from './wall-text.js'

const MOST_REASONS = 3

// More than the minutes of a missing hour; a denser pattern is summed up.
const MOST_LOOKED_AT = 100

/**
 * Says why the occurrence at `at`, the first after `after` (epoch seconds), is not plainly the local time that
 * was written: which missing local times ended there or were skipped, and which of two equal ones it is.
 */
export function wallReasons(clock: WallClock, after: number, at: number): string[] {
  const { zone, pattern } = clock
  const { offset } = zone.segmentAt(at)
  const local = at + offset
  const missing = missingTimes(clock, after, at)
  const reasons = missing.slice(0, MOST_REASONS).map((time) => {
    const outcome = clock.gap === 'skip' ? 'skipped' : landing(time, local)
    return `${formatTime(timeOf(time))} does not exist on ${formatDay(dayOf(time))} in ${zone.name}: ${outcome}`
  })
  if (missing.length > MOST_REASONS) {
    const rest = missing.length < MOST_LOOKED_AT ? String(missing.length - MOST_REASONS) : 'many'
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

/** The local times of the pattern that do not exist and ended at `at`, or were skipped on the way there. */
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
  while (locals.length < MOST_LOOKED_AT) {
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
