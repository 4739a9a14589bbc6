import type { JSX } from 'preact'

/** Small line icons, drawn here so that the page loads nothing. Beside each is a text that says the same. */
const paths = {
  overview: 'M3 13h6V3H3zM3 17h6v-2H3zM11 17h6V9h-6zM11 3v4h6V3z',
  timers: 'M10 6v4.500l3 2M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14ZM7.500 1h5',
  schedules: 'M3 5h14v12H3zM3 8.500h14M7 3v3.500M13 3v3.500M7 12h2M11 12h2',
  dead: 'M10 2.500 18 17H2zM10 8v4.500M10 14.500v.5',
  forecast: 'M3 17V11M7 17V6M11 17V9M15 17V3M1.500 17.500h17',
  activity: 'M2 10h3.500l2-6 4.500 12 2-6H18',
  cluster: 'M3 3h14v5H3zM3 12h14v5H3zM6 5.500h.1M6 14.500h.1',
  kinds: 'M2.500 10.500V3h7.500l7.500 7.500-7 7zM6.500 6.500h.1',
  keys: 'M12.500 2.500a5 5 0 1 0 0 10 5 5 0 0 0 0-10ZM9 11l-6.500 6.500M4 16l2 2M7 13l2 2',
  jobs: 'M3 5h14M3 10h14M3 15h9',
  start: 'M4 3v15M4 4h11l-2.500 3.500L15 11H4',
  play: 'M6 3.500v13l10-6.500z',
  pause: 'M6.500 4v12M13.500 4v12',
  done: 'M4 10.500 8.500 15 16 5.500',
  failed: 'M5 5l10 10M15 5 5 15',
  retry: 'M16 5v4h-4M15.500 9A6 6 0 1 0 16 11.500',
  clock: 'M10 5.500V10l3 2M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14Z',
  stop: 'M5 5h10v10H5z',
  move: 'M3 10h13M11 5l5 5-5 5',
  copy: 'M7 7V3h10v10h-4M3 7h10v10H3z',
  edit: 'M4 16l1-4 8.500-8.500 3 3L8 15z',
  trash: 'M4 6h12M8 6V3.500h4V6M5.500 6l1 11h7l1-11',
  plus: 'M10 4v12M4 10h12',
  menu: 'M3 5.500h14M3 10h14M3 14.500h14',
  search: 'M9 3.500a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11ZM13 13l4 4',
  eye: 'M2 10s3-5.500 8-5.500S18 10 18 10s-3 5.500-8 5.500S2 10 2 10ZM10 8a2 2 0 1 0 0 4 2 2 0 0 0 0-4Z',
  link: 'M8 12l4-4M7 9l-2.500 2.500a3 3 0 0 0 4.200 4.200L11 13M13 11l2.500-2.500a3 3 0 0 0-4.200-4.200L9 7',
  door: 'M8 3H4v14h4M12 6l4 4-4 4M7 10h9',
  info: 'M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14ZM10 9v4.500M10 6.300v.2',
  hand: 'M4 10h9M9 6l4 4-4 4M16 4v12',
} as const

export type IconName = keyof typeof paths

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  )
}
