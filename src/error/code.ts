/**
 * Every error code of Carillon, with what to do about it. Codes are stable: programs may branch on them.
 * `docs/errors.md` has one row for each, and a test compares the two.
 */
export const errorCodes = Object.freeze({
  'attempt-lost':
    'Another instance has the timer now and will attempt it again. End the handler: its outcome no longer counts.',
  'body-too-large': 'Send a smaller body. The message has the limit.',
  'clock-busy': 'Await the running `advance` of this virtual clock before you start another.',
  'clock-stuck': 'A wake re-arms itself at the same instant forever: let it wait at least a millisecond.',
  'dead-unknown': 'There is no such dead letter: it was redriven or discarded, or the id is wrong.',
  'driver-missing': "Install the store's driver beside Carillon. The message has the command.",
  'driver-unsupported': "Install a version of the store's driver that the message names.",
  'engine-busy': 'Wait for answers before you send more, or raise `maxQueued`.',
  'expression-too-long': 'Shorten the expression. The message has the limit.',
  fenced: 'Another instance owns the shard now: drop its rows from memory, acquire it again and reload.',
  forbidden: 'Use a key with the scope and namespace that the message names.',
  'handler-exists': 'Register one handler per kind and instance.',
  'handler-interrupted':
    'The thread ended while the handler ran, so the outcome is unknown. The attempt counts, and the timer is tried again.',
  'handler-module': 'Correct the module: the message says what went wrong when a thread loaded it.',
  'handler-timeout': 'The handler took longer than its kind allows: make it faster, or raise `timeout`.',
  'inbox-first': "Requests wait in the shard's inbox: apply them, then write again.",
  'idempotency-mismatch': 'Use a new Idempotency-Key for a different request.',
  internal: "Unexpected error in the server: find the request id in the server's log.",
  'invalid-body': 'Correct the part of the request that the message names.',
  'invalid-cron': 'Correct the field that the message names.',
  'invalid-cursor': 'Pass the cursor of the previous page, from the same kind of query.',
  'invalid-duration':
    "Pass milliseconds, a string such as '5m' or '1h30m', or an ISO 8601 duration such as 'PT5M'.",
  'invalid-handle': 'Pass the handle that `set` returned.',
  'invalid-instant': 'Pass epoch milliseconds as a finite number.',
  'invalid-key': 'Pass a string of 1 to 512 bytes of UTF-8, without U+0000.',
  'invalid-kind': 'Pass a string of 1 to 128 bytes of UTF-8, without U+0000.',
  'invalid-level':
    "Settle less: a level may rise only over rows that were read, and not above the store's clock.",
  'invalid-namespace': 'Pass a string of 1 to 128 bytes of UTF-8, without U+0000.',
  'invalid-option': 'Correct the option that the message names.',
  'invalid-payload': 'Pass a payload that JSON can represent: no functions, no bigints, no cycles.',
  'invalid-receipt': 'Pass the receipt of the leased firing unchanged.',
  'invalid-rrule': 'Correct the part that the message names. See RFC 5545, section 3.3.10.',
  'invalid-schedule': 'Pass the JSON of a schedule, written by this version or an older one.',
  'invalid-secret': 'Pass `whsec_` and 24 to 64 random bytes in base64. The message has an example.',
  'invalid-store-url':
    "Pass 'memory:', 'file:./folder', 'postgres://host/database' or 'redis://host'. The message has examples.",
  'invalid-tag': 'Pass at most 16 strings of 1 to 128 bytes of UTF-8.',
  'invalid-tick': 'Pass an integer from 0 to 2^53 - 1.',
  'invalid-time': "Pass a time of day such as '09:00' or '09:00:30'.",
  'invalid-timer': 'Correct the part of the timer that the message names.',
  'invalid-token': 'Pass an integer from 0 to 2^53 - 1.',
  'invalid-url': 'Pass an absolute URL, such as https://example.org/timers.',
  'invalid-when': 'Pass exactly one of `in`, `at` and `on`.',
  'invalid-zone': "Pass an IANA name such as 'Europe/Paris', 'UTC', or an offset such as '+05:30'.",
  'key-limit': 'Two keys of a name may be active: revoke one of them first.',
  'job-unknown': 'There is no such job: it has ended long ago, or its instance has stopped.',
  'key-unknown': 'There is no such key: list the keys to find its id.',
  'lease-ended': 'The worker did not answer in time: make it faster, extend the lease, or lease for longer.',
  'maintenance-running': 'A backup, a compaction or a verification is running: wait until it is done.',
  'method-unknown': 'Use a method that the header `Allow` names: see /docs.',
  'never-matches': 'Use a date that exists: this schedule would never occur.',
  'no-transactions':
    'Use PostgreSQL, or omit `using` and `transaction: true`: this store or server has no transactions to join.',
  'not-a-worker': 'Call `attach` in the module of a pool, which its workers load.',
  'not-done':
    'The call was over before it was sent, so nothing happened and nothing will: try again, or raise `timeout`.',
  'not-leased':
    'Set the target of the kind to `lease`, with `deliver` or in the store, or lease another kind.',
  'not-over-http': 'A server cannot do this: open the store itself, or follow the message.',
  'off-loopback': 'Turn keys on, or listen on 127.0.0.1.',
  'owner-unreachable':
    'The owner of the shard did not answer. The change may have been made, or may still be: read the timer, or try again.',
  'package-missing': 'Install the package beside Carillon. The message has the command.',
  'package-unsupported': 'Install the version of the package that the message names.',
  'partly-done': 'Read `rows` of the error: rows with an answer are done. Retry the others.',
  'payload-cannot-cross':
    'Let the schema return what structured clone can copy, or handle the kind with a function.',
  'payload-refused': "Pass a payload that the kind's schema accepts.",
  'payload-too-large':
    'Store the data elsewhere and put a reference to it in the payload, or raise `maxPayloadBytes`.',
  'pool-full': 'Cancel timers, wait until some have fired, or start the pool with a larger `maxTimers`.',
  'port-busy': 'Stop the program that listens there, or choose another port.',
  'protocol-mismatch':
    'Stop the instances of the other version first, or upgrade through a version that is compatible with both.',
  'schedule-budget': 'Correct the schedules of this batch that never match, and send the other rows again.',
  'quota-exceeded': 'The namespace is full: let timers fire, cancel some, or have its quota raised.',
  'rate-limited': 'Wait for the time in Retry-After, or have the rate raised.',
  'receipt-stale': 'The lease has ended: do not act on the firing any more.',
  'refused-url': 'Pass a URL that the guard allows. The message says what is wrong with it.',
  'request-timeout': 'Send the whole request within the timeout.',
  'revision-conflict': 'The timer has changed: get it, and decide again.',
  'route-unknown': 'There is no such route: see /docs.',
  'schedule-ended': 'Pass a schedule that still has an occurrence.',
  'secret-key-missing':
    'Start every instance with the secret key that sealed the targets, or set the target again with its secret.',
  'server-unreachable':
    'The server did not answer: try again. The request may have been done, but a retry by the same call is not done twice.',
  started: 'These timers fire by themselves: drain only timers that were not started.',
  starting: 'The server listens, but does not fire timers yet: try again in a second.',
  stopped: 'This object was stopped: make a new one.',
  'store-damaged': 'Restore the folder from a backup. The message says what was found.',
  'store-denied':
    'The database refused the login or lacks a privilege: check user, password, database and grants.',
  'store-evicting': 'Set maxmemory-policy to noeviction, or allow eviction in the URL if timers may be lost.',
  'store-failed':
    'The disk refused a write: check the disk, then restart the process. Acknowledged writes are safe.',
  'store-foreign': 'Something else is stored there: use a new or empty folder, or another prefix.',
  'store-full':
    'Free disk space, or memory of the database. Nothing was lost, and writes continue afterwards.',
  'store-in-use': 'Stop the other process that has this store open, or use a store that several can share.',
  'store-network': 'Use a folder on a local disk: network file systems do not guarantee locks and syncs.',
  'store-newer':
    'A newer version of Carillon wrote this store: upgrade, or restore a backup of the older format.',
  'store-older': 'Upgrade the database server to the version that the message names.',
  'store-read-only': 'Make the folder writable for this process.',
  'store-unavailable': 'The store did not get the call, so nothing happened: try again.',
  'store-volatile':
    'The database may lose acknowledged writes: turn on what the message names, or allow it in the URL.',
  'target-unknown': 'The kind has no target: its timers wait until it gets one.',
  'task-interrupted':
    'The worker ended while the task ran: the task may have done its work. Set the timer again if it must run.',
  'task-module': 'Correct the module: the message says what went wrong when a worker loaded it.',
  'task-unknown': 'Pass the name of a function that the module exports. The message lists them.',
  'tick-went-back': 'Advance a wheel only forward, with ticks from a monotonic clock.',
  'timer-busy': 'Another thread is moving the timer at this moment: try again.',
  'timer-firing': 'An attempt is running and nothing was changed: wait for its outcome.',
  'timer-settled': 'The timer has already finished: set a new one.',
  'timer-unknown': 'There is no such timer.',
  'too-many-kinds': 'Use fewer kinds in a namespace: put what differs into the key or the payload.',
  'too-many-listeners': 'Close some event streams, or share one stream between several consumers.',
  'too-many-namespaces': 'Use fewer namespaces on one server, or several servers.',
  'too-many-occurrences': 'Ask for fewer occurrences, or for a shorter time. The message has the limit.',
  'too-many-targets': 'Remove unused targets, or use another namespace.',
  'too-many-jobs': 'Wait for one of the running jobs, or stop it.',
  'too-many-timers': 'Narrow the query, so that it matches fewer timers. The message has the limit.',
  'too-many-waiting': 'Let each worker lease more firings per call, or wait in fewer calls at once.',
  'transaction-over': 'The transaction of a firing ends with its handler: await every query within it.',
  'two-phase-commit':
    'End a transaction that sets timers with COMMIT, or set the timers after the second phase.',
  unauthorized: 'Send `Authorization: Bearer` with an active key.',
  'unknown-kind':
    'Pass a kind that `timer` made, or the name of one that was set or handled in this namespace.',
  'unknown-option': 'Remove the option or correct its spelling. The message lists the known options.',
  'unknown-outcome':
    'The store did not answer in time, so the call may have happened: check before you retry.',
  'unsupported-media': 'Send application/json, uncompressed. Batches may be application/x-ndjson.',
  'webhook-expired': 'The message is older than you allow, or the clocks disagree: do not act on it.',
  'webhook-forged': 'Do not act on the message. Check that sender and receiver have the same secret.',
  'webhook-refused':
    'The guard refuses the address of this host: allow it in the guard, or use another host.',
  'webhook-timeout':
    'The target did not answer in time and is tried again: let it answer before it does the work.',
  'webhook-unreachable': 'The target could not be reached and is tried again.',
  'webhook-unreadable': 'The message cannot be parsed. The error message says why.',
  'webhook-unsigned': 'Do not act on the message: it has no signature.',
  'wheel-busy': 'Call `advance` and `drain` from outside `fire`.',
  'wheel-full': 'Spread the timers over several wheels.',
  'wrong-strategy': 'The store was created for another strategy: open it with that one, or switch it.',
} as const)

/** The stable name of an error. docs/errors.md says what to do about each. */
export type ErrorCode = keyof typeof errorCodes
