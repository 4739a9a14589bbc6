import { now } from '../../state/clock.ts'

/** What the list of timers is filtered by, as it is in the URL. */
export interface Filter {
  readonly kind: string
  readonly key: string
  readonly match: 'part' | 'prefix'
  readonly tag: string
  readonly state: string
  readonly due: string
  readonly from: string
  readonly until: string
  readonly recurring: string
  readonly attempts: string
}

export const emptyFilter: Filter = {
  kind: '',
  key: '',
  match: 'part',
  tag: '',
  state: '',
  due: '',
  from: '',
  until: '',
  recurring: '',
  attempts: '',
}

export function filterOf(query: URLSearchParams): Filter {
  return Object.fromEntries(
    Object.entries(emptyFilter).map(([name, value]) => [name, query.get(name) ?? value]),
  ) as unknown as Filter
}

const windows: Readonly<Record<string, number>> = {
  '10min': 600_000,
  '1h': 3_600_000,
  '1d': 86_400_000,
  '7d': 604_800_000,
}

/** The conditions in the words of the API. */
export function conditionsOf(filter: Filter): Readonly<Record<string, string | number | boolean>> {
  const conditions: Record<string, string | number | boolean> = {}
  if (filter.kind !== '') conditions['kind'] = filter.kind
  if (filter.key !== '') conditions[filter.match === 'prefix' ? 'keyPrefix' : 'keyPart'] = filter.key
  if (filter.tag !== '') conditions['tag'] = filter.tag
  if (filter.state !== '') conditions['state'] = filter.state
  if (filter.recurring !== '') conditions['recurring'] = filter.recurring === 'yes'
  if (filter.attempts !== '') conditions['attemptsFrom'] = Number(filter.attempts)
  const window = windows[filter.due]
  // Whole seconds, so that the same list is asked for again while it is paged through.
  const at = Math.floor(now.peek() / 1000) * 1000
  if (filter.due === 'overdue') conditions['dueUntil'] = at
  else if (window !== undefined) Object.assign(conditions, { dueFrom: at, dueUntil: at + window })
  if (filter.from !== '') conditions['dueFrom'] = instantOf(filter.from)
  if (filter.until !== '') conditions['dueUntil'] = instantOf(filter.until)
  return conditions
}

/** Links have epoch milliseconds, the form has local times. */
function instantOf(text: string): number | string {
  if (/^\d+$/.test(text)) return Number(text)
  const at = Date.parse(text)
  return Number.isNaN(at) ? text : at
}

/** Whether anything restricts the list. */
export function isFiltered(filter: Filter): boolean {
  return Object.keys(conditionsOf(filter)).length > 0
}

/** The filter in words, for confirmations: “of kind mail, with the tag vip”. */
export function filterWords(filter: Filter): string {
  const parts = [
    filter.kind !== '' && `of kind ${filter.kind}`,
    filter.key !== '' &&
      `whose key ${filter.match === 'prefix' ? 'begins with' : 'contains'} “${filter.key}”`,
    filter.tag !== '' && `with the tag ${filter.tag}`,
    filter.state !== '' && `that are ${filter.state}`,
    filter.due === 'overdue' && 'that are overdue',
    filter.due !== '' && filter.due !== 'overdue' && `due within ${filter.due}`,
    (filter.from !== '' || filter.until !== '') && 'due in the given time',
    filter.recurring !== '' && (filter.recurring === 'yes' ? 'that recur' : 'that fire once'),
    filter.attempts !== '' && `with at least ${filter.attempts} attempts`,
  ].filter(Boolean)
  return parts.join(', ')
}
