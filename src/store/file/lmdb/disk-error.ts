import { CarillonError, LimitError, StoreError } from '../../../error/index.js'

/** The code of an error: a string from Node, a number from LMDB. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Whether the system reports that the disk, or this user's quota on it, is full. */
export function isFullError(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 28 || code === 122
}

/** Whether LMDB raised the error: its codes are numbers. */
export function isLmdbError(error: unknown): boolean {
  return typeof codeOf(error) === 'number'
}

/** The cause of a failed commit. LMDB's binding passes it as a promise that rejects. */
export async function causeOf(error: unknown): Promise<unknown> {
  const reason: unknown = error instanceof Error && 'commitError' in error ? error.commitError : undefined
  if (!(reason instanceof Promise)) return error
  try {
    await reason
    return error
  } catch (cause) {
    return cause
  }
}

/** The error of a compaction or a backup that failed. */
export function copyError(what: string, error: unknown): CarillonError {
  if (error instanceof CarillonError) return error
  const code = isFullError(error) ? 'store-full' : 'store-unavailable'
  return new StoreError(code, `${what}: ${messageOf(error)}`, { cause: error })
}

/** The error of an open that failed. */
export function openingError(folder: string, error: unknown): Error {
  const code = codeOf(error)
  const message = messageOf(error)
  if (error instanceof StoreError || error instanceof LimitError) return error
  if (code === 'EACCES' || code === 'EROFS' || code === 'EPERM' || code === 13 || code === 30 || code === 1) {
    return new StoreError('store-read-only', `cannot write to ${folder}: ${message}`, { cause: error })
  }
  if (code === 'ENOTDIR' || code === 'EEXIST') {
    return new StoreError('store-foreign', `${folder} is not a folder`, { cause: error })
  }
  if (isFullError(error)) {
    return new StoreError('store-full', `the disk is full: cannot create a store in ${folder}`, {
      cause: error,
    })
  }
  if (code === 'EIO' || code === 5) {
    return new StoreError('store-failed', `the disk failed while opening ${folder} (${message}): check it`, {
      cause: error,
    })
  }
  return new StoreError('store-damaged', `cannot open ${folder}: ${message}`, { cause: error })
}
