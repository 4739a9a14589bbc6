/**
 * Every error code of Carillon, with what to do about it. Codes are stable: programs may branch on them.
 * `docs/errors.md` carries one row for each; a test holds the two together.
 */
export const errorCodes = Object.freeze({
  'clock-busy': 'Await the running `advance` of this virtual clock before you start another.',
  'clock-stuck': 'A wake keeps re-arming itself at one instant: let it wait at least a millisecond.',
  'driver-missing': 'Install the driver of the store beside Carillon; the message has the command.',
  'engine-busy': 'Wait for answers before you send more, or raise `maxQueued`.',
  'expression-too-long': 'Shorten the expression; the message says how long it may be.',
  fenced: 'Somebody else owns the shard now: drop what is in memory, claim it again and reload.',
  'handler-exists': 'A kind has one handler in each instance: register it once.',
  'handler-timeout': 'The handler took longer than its kind allows: make it quicker, or raise `timeout`.',
  'invalid-cron': 'Correct the field the message names.',
  'invalid-cursor': 'Give the cursor of the page before, from the same kind of query.',
  'invalid-duration':
    "Give milliseconds, a text such as '5m' or '1h30m', or an ISO 8601 duration such as 'PT5M'.",
  'invalid-handle': 'Give the handle that `set` returned.',
  'invalid-instant': 'Give epoch milliseconds as a finite number.',
  'invalid-key': 'Give a text of 1 to 512 bytes of UTF-8, without U+0000.',
  'invalid-kind': 'Give a text of 1 to 128 bytes of UTF-8, without U+0000.',
  'invalid-level': "A level rises only over what was read, and never beyond the store's clock: settle less.",
  'invalid-namespace': 'Give a text of 1 to 128 bytes of UTF-8, without U+0000.',
  'invalid-option': 'Correct the option the message names.',
  'invalid-payload': 'Give a payload that JSON can write: no functions, no bigints, no cycles.',
  'invalid-rrule': 'Correct the part the message names; see RFC 5545, section 3.3.10.',
  'invalid-schedule': 'Give what `JSON.stringify` made of a schedule of this version or an older one.',
  'invalid-secret': 'Give `whsec_` and 24 to 64 random bytes in base64, as the message shows.',
  'invalid-store-url':
    "Give 'memory:', 'file:./folder', 'postgres://host/database' or 'redis://host'; the message shows examples.",
  'invalid-tag': 'Give at most 16 texts of 1 to 128 bytes of UTF-8.',
  'invalid-tick': 'Give a whole number from 0 to 2^53 - 1.',
  'invalid-time': "Give a time of day such as '09:00' or '09:00:30'.",
  'invalid-timer': 'Correct the part of the timer that the message names.',
  'invalid-token': 'Give a whole number from 0 to 2^53 - 1.',
  'invalid-url': 'Give a whole URL, such as https://example.org/timers.',
  'invalid-when': 'Give exactly one of `in`, `at` and `on`.',
  'invalid-zone': "Give an IANA name such as 'Europe/Paris', 'UTC', or an offset such as '+05:30'.",
  'never-matches': 'Name a date that exists: nothing would ever occur.',
  'no-transactions':
    'There are no transactions to take part in here: use PostgreSQL, or do without `using` and `transaction: true`.',
  'owner-unreachable': 'The owner of the shard did not answer: try again.',
  'partly-done': 'Look at `rows` of the error: what has an answer is done; try the rest again.',
  'payload-refused': 'Give a payload that the schema of its kind accepts.',
  'payload-too-large':
    'Store the data elsewhere and put a reference to it in the payload, or raise `maxPayloadBytes`.',
  'refused-url': 'Give a URL that may be called from here; the message says what is wrong with it.',
  'schedule-ended': 'Give a schedule that still has an occurrence.',
  started: 'These timers fire by themselves: drain timers that were not started.',
  stopped: 'It was stopped: make a new one.',
  'store-damaged': 'Restore the folder from a backup; the message says what was found.',
  'store-denied': 'The server refused the login or lacks a right: check user, password, database and grants.',
  'store-evicting':
    'Set maxmemory-policy to noeviction, or allow it in the URL if timers may be thrown away.',
  'store-foreign': 'What is there is something else: give a new or an empty folder, or another prefix.',
  'store-full':
    'Make room on the disk, or in the memory of the server: nothing was lost, and writing goes on.',
  'store-in-use': 'Stop the other process that has this store open, or use a store that several may share.',
  'store-network': 'Keep the folder on a local disk: network file systems do not keep their promises.',
  'store-newer':
    'A newer version of Carillon wrote this store: upgrade, or restore a backup of the older format.',
  'store-older': 'Upgrade the server to the version that the message names.',
  'store-read-only': 'Make the folder writable for this process.',
  'store-unavailable': 'The store did not take the call and nothing happened: try again.',
  'store-volatile': 'Turn the append-only file on, or allow its absence in the URL if timers may be lost.',
  'tick-went-back': 'Advance a wheel only forward; read the tick from a clock that does not go back.',
  'too-many-occurrences': 'Ask for fewer, or for a shorter time; the message says how many there may be.',
  'transaction-over': 'The transaction of a firing ends with its handler: await every query within it.',
  'unknown-kind':
    'Give a kind that `timer` made, or the name of one that was set or handled in this namespace.',
  'unknown-option': 'Remove the option or mend its spelling; the message lists what is accepted.',
  'unknown-outcome': 'The store did not answer in time: it may have happened. Ask before you try again.',
  'webhook-expired': 'The message is older than you allow, or the clocks disagree: do not act on it.',
  'webhook-forged': 'Do not act on the message; check that sender and receiver have the same secret.',
  'webhook-refused':
    'The host leads to where deliveries must not go: allow it in the guard, or give another.',
  'webhook-timeout':
    'The target did not answer in time, and is tried again: let it answer first and work after.',
  'webhook-unreachable': 'The target could not be reached, and is tried again.',
  'webhook-unreadable': 'It cannot be read; the message says why.',
  'webhook-unsigned': 'Do not act on the message: it carries no signature.',
  'wheel-busy': 'Call `advance` and `drain` from outside `fire`.',
  'wheel-full': 'Spread the timers over several wheels.',
  'wrong-strategy': 'The store was made for another strategy; open it with that one.',
} as const)

export type ErrorCode = keyof typeof errorCodes
