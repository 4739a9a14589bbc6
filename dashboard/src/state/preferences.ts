import { signal } from '@preact/signals'

/** In which zone the page shows instants. */
export type ZoneChoice = 'local' | 'UTC'

export const viewerZone = Intl.DateTimeFormat().resolvedOptions().timeZone

const ZONE = 'carillon-zone'
export const zoneChoice = signal<ZoneChoice>(sessionStorage.getItem(ZONE) === 'UTC' ? 'UTC' : 'local')

export function chooseZone(choice: ZoneChoice): void {
  sessionStorage.setItem(ZONE, choice)
  zoneChoice.value = choice
}

export function shownZone(): string {
  return zoneChoice.value === 'UTC' ? 'UTC' : viewerZone
}
