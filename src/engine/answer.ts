import type { CarillonError } from '../error/index.js'
import type { Standing } from '../store/index.js'

/** What became of an operation. */
export type SubmitAnswer =
  /** Stored. The revision is not known when another instance stored it. */
  | {
      readonly outcome: 'set'
      readonly revision: number | undefined
      readonly replaced: Standing | undefined
    }
  /** Acknowledged: it is in the inbox of its shard's owner. */
  | { readonly outcome: 'appended' }
  | { readonly outcome: 'moved'; readonly revision: number | undefined }
  | { readonly outcome: 'cancelled' }
  /** Too late: an attempt is under way, and nothing was changed. */
  | { readonly outcome: 'firing' }
  /** Too late: it is over. */
  | { readonly outcome: 'settled' }
  | { readonly outcome: 'conflict'; readonly standing: Standing | undefined }
  | { readonly outcome: 'unknown' }
  | { readonly outcome: 'failed'; readonly error: CarillonError }

/** What a shard's engine answers: also that the shard was lost before ('lost') or while ('unsure') it wrote. */
export type Answer = SubmitAnswer | { readonly outcome: 'lost' } | { readonly outcome: 'unsure' }

export function failed(error: CarillonError): SubmitAnswer {
  return { outcome: 'failed', error }
}
