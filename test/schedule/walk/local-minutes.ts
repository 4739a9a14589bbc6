/**
 * Ten years of a zone, minute by minute. Read from Intl hour by hour and, where the offset changed, minute by
 * minute. It shares nothing with the code under test except Intl itself.
 */
export interface LocalMinutes {
  readonly zone: string
  /** The first minute, in minutes since the epoch. */
  readonly firstMinute: number
  /** The local minute of each minute, counted as if it were UTC. */
  readonly local: Int32Array
}

export function localMinutes(zone: string, firstYear: number): LocalMinutes {
  const firstMinute = Date.UTC(firstYear, 0, 1) / 60_000
  const endMinute = Date.UTC(firstYear + 10, 0, 1) / 60_000
  const local = new Int32Array(endMinute - firstMinute)
  const shift = offsetReader(zone)
  let offset = shift(firstMinute)
  for (let hour = firstMinute; hour < endMinute; hour += 60) {
    const offsetAtEnd = shift(hour + 60)
    for (let minute = hour; minute < hour + 60; minute++) {
      local[minute - firstMinute] = minute + (offsetAtEnd === offset ? offset : shift(minute))
    }
    offset = offsetAtEnd
  }
  return { zone, firstMinute, local }
}

function offsetReader(zone: string): (minute: number) => number {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  })
  return (minute) => {
    // The text is '14/03/2027, 03:00'.
    const text = format.format(minute * 60_000)
    const local = Date.UTC(
      Number(text.slice(6, 10)),
      Number(text.slice(3, 5)) - 1,
      Number(text.slice(0, 2)),
      Number(text.slice(12, 14)),
      Number(text.slice(15, 17)),
    )
    return local / 60_000 - minute
  }
}
