import type { Job } from '../jobs/job.js'
import type { InstanceHere } from './instance-here.js'
import type { KindHere } from './kinds-here.js'
import type { SeriesHere, SeriesQuery } from './series.js'

/** What each view takes, and what one instance answers. All of it is JSON: instances send it to each other. */
interface Views {
  readonly kinds: { readonly asks: { readonly namespace: string }; readonly answers: readonly KindHere[] }
  readonly instance: { readonly asks: object; readonly answers: InstanceHere }
  readonly jobs: { readonly asks: { readonly namespace: string }; readonly answers: readonly Job[] }
  readonly stopJob: {
    readonly asks: { readonly namespace: string; readonly id: string }
    readonly answers: Job | undefined
  }
  readonly series: { readonly asks: SeriesQuery; readonly answers: SeriesHere }
}

export type ViewName = keyof Views
export type AsksOf<Name extends ViewName> = Views[Name]['asks']
export type AnswersOf<Name extends ViewName> = Views[Name]['answers']

/** Answers each view from what this instance knows. */
export type ViewAnswers = {
  readonly [Name in ViewName]: (asks: AsksOf<Name>) => AnswersOf<Name> | Promise<AnswersOf<Name>>
}
