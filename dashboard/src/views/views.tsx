import type { FunctionComponent } from 'preact'
import { can } from '../state/session.ts'
import type { IconName } from '../ui/icon.tsx'
import { ActivityView } from './activity/activity-view.tsx'
import { ClusterView } from './cluster/cluster-view.tsx'
import { DeadView } from './dead/dead-view.tsx'
import { ForecastView } from './forecast/forecast-view.tsx'
import { JobsView } from './jobs-view.tsx'
import { KeysView } from './admin/keys-view.tsx'
import { KindsView } from './admin/kinds-view.tsx'
import { NamespacesView } from './admin/namespaces-view.tsx'
import { NotFound } from './not-found.tsx'
import { OverviewView } from './overview/overview-view.tsx'
import { SchedulesView } from './schedules/schedules-view.tsx'
import { SetView } from './timer/set-view.tsx'
import { StartView } from './start-view.tsx'
import { TimerView } from './timer/timer-view.tsx'
import { TimersView } from './timers/timers-view.tsx'

export interface ViewProps {
  /** The rest of the path: what the view is about. */
  readonly path: readonly string[]
}

interface ViewEntry {
  readonly name: string
  readonly title: string
  readonly icon: IconName
  readonly View: FunctionComponent<ViewProps>
  readonly isShown?: () => boolean
}

/** The views in the order of the menu. */
export const areas: readonly { readonly title: string; readonly views: readonly ViewEntry[] }[] = [
  {
    title: 'Watch',
    views: [
      { name: 'overview', title: 'Overview', icon: 'overview', View: OverviewView },
      { name: 'forecast', title: 'Forecast', icon: 'forecast', View: ForecastView },
      { name: 'activity', title: 'Activity', icon: 'activity', View: ActivityView },
    ],
  },
  {
    title: 'Timers',
    views: [
      { name: 'timers', title: 'Timers', icon: 'timers', View: TimersView },
      { name: 'schedules', title: 'Schedules', icon: 'schedules', View: SchedulesView },
      { name: 'dead', title: 'Dead letters', icon: 'dead', View: DeadView },
      { name: 'jobs', title: 'Bulk jobs', icon: 'jobs', View: JobsView },
    ],
  },
  {
    title: 'Operate',
    views: [
      { name: 'kinds', title: 'Kinds and targets', icon: 'kinds', View: KindsView },
      { name: 'cluster', title: 'Cluster', icon: 'cluster', View: ClusterView },
      {
        name: 'namespaces',
        title: 'Namespaces',
        icon: 'overview',
        View: NamespacesView,
      },
      { name: 'keys', title: 'API keys', icon: 'keys', View: KeysView, isShown: () => can('admin') },
      { name: 'start', title: 'First steps', icon: 'start', View: StartView },
    ],
  },
]

const inside: readonly ViewEntry[] = [
  { name: 'timer', title: 'Timer', icon: 'timers', View: TimerView },
  { name: 'set', title: 'Set a timer', icon: 'plus', View: SetView },
]

const all = new Map([...areas.flatMap(({ views }) => views), ...inside].map((view) => [view.name, view]))

export function viewOf([name = 'overview']: readonly string[]): ViewEntry {
  return all.get(name) ?? { name: '', title: 'Not found', icon: 'info', View: NotFound }
}
