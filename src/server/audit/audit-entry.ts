import type { ErrorCode } from '../../error/index.js'

/** A change that an operator made. */
export interface AuditEntry {
  /** Rises with time. */
  readonly id: string
  readonly at: number
  /** What was done, such as `keys.create`. */
  readonly action: string
  /** `done`, or the code of an error after which the change may have been made. */
  readonly outcome: 'done' | ErrorCode
  /** What it was done to: a kind, the id of a key, the name of a backup. */
  readonly subject?: string
  /** Absent if the change concerns all namespaces. */
  readonly namespace?: string
  readonly details?: Readonly<Record<string, AuditDetail>>
  readonly key: { readonly id: string; readonly name: string }
  /** The address that the request came from. */
  readonly from: string
  /** The `X-Forwarded-For` of the request. A proxy adds it, but anybody can send it. */
  readonly forwardedFor?: string
  readonly requestId?: string
}

export type AuditDetail = string | number | boolean

/** What a change was about. `namespace: null` means all namespaces; absent, the namespace of the request. */
export interface AuditSubject {
  readonly subject?: string
  readonly namespace?: string | null
  readonly details?: Readonly<Record<string, AuditDetail | undefined>>
}

export interface AuditQuery {
  /** Only entries of this namespace. */
  readonly namespace?: string
  readonly action?: string
  /** Only what this key did, by its id. */
  readonly keyId?: string
  readonly from?: number
  readonly until?: number
  readonly limit: number
  /** The id of the last entry of the page before. */
  readonly before?: string
}
