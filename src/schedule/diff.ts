import type { SimulatedFiring } from './simulate.js'

/** What a change of definitions does to the firings, each list in order of time. */
export interface FiringDiff {
  readonly added: readonly SimulatedFiring[]
  readonly removed: readonly SimulatedFiring[]
  readonly moved: readonly MovedFiring[]
  /** How many firings are the same before and after. */
  readonly unchanged: number
}

export interface MovedFiring {
  readonly name: string
  readonly from: number
  readonly to: number
}

/**
 * Compares two simulations. A firing that is gone and one of the same name that is new count as one that moved
 * when each is the other's nearest; what is left over was removed or added.
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
    // On a tie a firing moves later rather than earlier, and the two rules agree with each other.
    const target = nearest(gone, come, 'later')
    const source = nearest(come, gone, 'earlier')
    for (const [i, at] of gone.entries()) {
      const place = target[i]!
      if (place >= 0 && source[place] === i) moved.push({ name, from: at, to: come[place]! })
      else removed.push({ name, at })
    }
    for (const [i, at] of come.entries()) {
      const place = source[i]!
      if (place < 0 || target[place] !== i) added.push({ name, at })
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

/** For each instant the place of its nearest among `others`, -1 when there are none. Both lists ascend. */
function nearest(
  instants: readonly number[],
  others: readonly number[],
  onTie: 'earlier' | 'later',
): readonly number[] {
  let place = 0
  return instants.map((at) => {
    const isBetter = (next: number) => {
      const gain = Math.abs(others[place]! - at) - Math.abs(others[next]! - at)
      return gain > 0 || (gain === 0 && onTie === 'later')
    }
    while (place + 1 < others.length && isBetter(place + 1)) place++
    return others.length === 0 ? -1 : place
  })
}
