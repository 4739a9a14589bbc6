import type { CarillonError } from '../error/index.js'
import type { RowVersion } from '../store/index.js'

/** The answer to an operation. */
export type SubmitAnswer =
  /** Stored. The revision is not known if another instance has stored it. */
  | {
      readonly outcome: 'set'
      readonly revision: number | undefined
      readonly replaced: RowVersion | undefined
    }
  /** Acknowledged: it is in the inbox of its shard's owner. */
  | { readonly outcome: 'appended' }
  | { readonly outcome: 'moved'; readonly revision: number | undefined }
  | { readonly outcome: 'cancelled' }
  /** A recurring timer was cancelled while an attempt is under way: no attempt starts after that one. */
  | { readonly outcome: 'ending' }
  /** Too late: an attempt is under way, and nothing was changed. */
  | { readonly outcome: 'firing' }
  /** Too late: the timer is finished. */
  | { readonly outcome: 'settled' }
  | { readonly outcome: 'conflict'; readonly current: RowVersion | undefined }
  | { readonly outcome: 'unknown' }
  | { readonly outcome: 'failed'; readonly error: CarillonError }

/** The answer of a shard's engine: also that the shard was lost before ('lost') or during ('unsure') the write. */
export type Answer = SubmitAnswer | { readonly outcome: 'lost' } | { readonly outcome: 'unsure' }

export function failed(error: CarillonError): SubmitAnswer {
  return { outcome: 'failed', error }
}
