import type { SimulatedFiring } from './simulate.js'

/** How a change of schedules changes the firings. Each array is in order of time. */
export interface FiringDiff {
  readonly added: readonly SimulatedFiring[]
  readonly removed: readonly SimulatedFiring[]
  readonly moved: readonly MovedFiring[]
  /** How many firings are in both simulations. */
  readonly unchanged: number
}

/** An occurrence that another schedule has at another time. */
export interface MovedFiring {
  readonly name: string
  readonly from: number
  readonly to: number
}

/**
 * Compares two simulations. If a removed and a new firing of the same name are nearest to each other, they
 * count as one that moved. All others are removed or added.
 */
export function diff(before: readonly SimulatedFiring[], after: readonly SimulatedFiring[]): FiringDiff {
  const old = byName(before)
  const fresh = byName(after)
  const added: SimulatedFiring[] = []
  const removed: SimulatedFiring[] = []
  const moved: MovedFiring[] = []
  let unchanged = 0
  for (const name of new Set([...old.keys(), ...fresh.keys()])) {
    const was = old.get(name) ?? new Set()
    const is = fresh.get(name) ?? new Set()
    const gone = [...was].filter((at) => !is.has(at)).sort((a, b) => a - b)
    const come = [...is].filter((at) => !was.has(at)).sort((a, b) => a - b)
    unchanged += was.size - gone.length
    // On a tie, a firing moves to the later instant. The two calls break ties in opposite directions, so they
    // agree.
    const target = nearest(gone, come, 'later')
    const source = nearest(come, gone, 'earlier')
    for (const [i, at] of gone.entries()) {
      const index = target[i]!
      if (index >= 0 && source[index] === i) moved.push({ name, from: at, to: come[index]! })
      else removed.push({ name, at })
    }
    for (const [i, at] of come.entries()) {
      const index = source[i]!
      if (index < 0 || target[index] !== i) added.push({ name, at })
    }
  }
  const inTime = (a: SimulatedFiring, b: SimulatedFiring) => a.at - b.at || (a.name < b.name ? -1 : 1)
  moved.sort((a, b) => a.from - b.from || (a.name < b.name ? -1 : 1))
  return { added: added.sort(inTime), removed: removed.sort(inTime), moved, unchanged }
}

function byName(firings: readonly SimulatedFiring[]): Map<string, Set<number>> {
  const names = new Map<string, Set<number>>()
  for (const { name, at } of firings) {
    const instants = names.get(name)
    if (instants === undefined) names.set(name, new Set([at]))
    else instants.add(at)
  }
  return names
}

/**
 * For each instant, returns the index of the nearest of `others`, or -1 if there are none. Both arrays must
 * be ascending.
 */
function nearest(
  instants: readonly number[],
  others: readonly number[],
  onTie: 'earlier' | 'later',
): readonly number[] {
  let index = 0
  return instants.map((at) => {
    const isBetter = (next: number) => {
      const gain = Math.abs(others[index]! - at) - Math.abs(others[next]! - at)
      return gain > 0 || (gain === 0 && onTie === 'later')
    }
    while (index + 1 < others.length && isBetter(index + 1)) index++
    return others.length === 0 ? -1 : index
  })
}
