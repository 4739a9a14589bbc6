import type { JSX } from 'preact'
import { route, setQuery } from '../../state/router.ts'
import { can } from '../../state/session.ts'
import { Choice, Heading } from '../../ui/basics.tsx'
import { AuditList } from './audit-list.tsx'
import { HistoryList } from './history-list.tsx'
import { LiveList } from './live-list.tsx'

type Tab = 'live' | 'history' | 'audit'

/** What happens now, what happened to timers, and what operators changed. */
export function ActivityView(): JSX.Element {
  const given = route.value.query.get('tab')
  const tab: Tab = given === 'history' || (given === 'audit' && can('admin')) ? given : 'live'
  const options: (readonly [Tab, string])[] = [
    ['live', 'Live'],
    ['history', 'History'],
  ]
  if (can('admin')) options.push(['audit', 'Operators'])
  return (
    <>
      <Heading title="Activity">
        <Choice
          label="What to show"
          value={tab}
          options={options}
          choose={(value) => setQuery({ tab: value })}
        />
      </Heading>
      {tab === 'live' && <LiveList />}
      {tab === 'history' && <HistoryList />}
      {tab === 'audit' && <AuditList />}
    </>
  )
}
