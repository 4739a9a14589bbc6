import { type Static, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { CarillonError } from '../../error/index.js'
import { MAX_BATCH_BYTES, MAX_LEASE_BATCH_ROWS } from '../defaults.js'
import { type Route, route } from '../http/route.js'
import { AckBody, ackOptionsOf, ExtendBody, Receipt, ReleaseBody } from '../http/schema/lease-schema.js'
import { mismatchText } from '../http/schema/mismatch-text.js'
import { isRefusal } from '../http/refusal.js'
import type { LeaseAction, LeaseActionOn, LeaseResult } from '../peers/lease-action.js'
import type { LeaseRouter } from '../peers/lease-router.js'

const closed = { additionalProperties: false } as const

/** One row of a batch: what a worker does with one lease. */
export const LeaseRow = Type.Union([
  Type.Object({ do: Type.Literal('ack'), receipt: Receipt, ...AckBody.properties }, closed),
  Type.Object({ do: Type.Literal('extend'), receipt: Receipt, ...ExtendBody.properties }, closed),
  Type.Object({ do: Type.Literal('release'), receipt: Receipt, ...ReleaseBody.properties }, closed),
])
type LeaseRow = Static<typeof LeaseRow>

const LeaseRowAnswer = Type.Object({
  outcome: Type.Union(
    ['acked', 'extended', 'released', 'stale', 'refused', 'failed'].map((name) => Type.Literal(name)),
    { description: 'stale: the lease had ended. refused: the row is invalid. failed: try again.' },
  ),
  code: Type.Optional(Type.String()),
  detail: Type.Optional(Type.String()),
})
type LeaseRowAnswer = { readonly outcome: string; readonly code?: string; readonly detail?: string }

const checker = TypeCompiler.Compile(LeaseRow)

/** Answers for many leases in one request. Each row has its own answer. */
export function leaseBatchRoutes(router: LeaseRouter): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/leases/batch',
      scope: 'write',
      group: 'Workers',
      summary: 'Ack, extend and release many leases. Each row gets its own answer, in the same order.',
      description: `Up to ${MAX_LEASE_BATCH_ROWS} rows. Leases of other instances are forwarded, in one message for each instance.`,
      body: Type.Array(LeaseRow, { maxItems: MAX_LEASE_BATCH_ROWS }),
      checksBody: (body) => Array.isArray(body) && body.length <= MAX_LEASE_BATCH_ROWS,
      bodyLimit: MAX_BATCH_BYTES,
      answer: Type.Array(LeaseRowAnswer),
      refusals: [413],
      handle: async ({ timers, limits, admission: { namespace }, body }) => {
        const rows: readonly unknown[] = body
        const read = rows.map((row) => (checker.Check(row) ? readAction(row) : refusedRow(row)))
        const answers = read.map((each) => ('outcome' in each ? each : undefined))
        const indexes = [...answers.keys()].filter((index) => answers[index] === undefined)
        const actions = indexes.map((index) => read[index] as LeaseActionOn)
        const results = await router.applyAll(timers, namespace, actions, limits)
        for (const [at, index] of indexes.entries()) answers[index] = answerOf(results[at]!)
        return answers
      },
    }),
  ]
}

function readAction(row: LeaseRow): LeaseActionOn | LeaseRowAnswer {
  try {
    return { receipt: row.receipt, action: leaseActionOf(row) }
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    return { outcome: 'refused', code: error.code, detail: error.message }
  }
}

function leaseActionOf(row: LeaseRow): LeaseAction {
  if (row.do === 'extend') return { type: 'extend', duration: row.duration }
  if (row.do === 'ack') {
    const { do: type, receipt: _, ...options } = row
    return { type, options: ackOptionsOf(options) }
  }
  const { do: type, receipt: _, ...options } = row
  return { type, options }
}

/** Shared by all rows with the same outcome, because answers are kept for retries. */
const outcomes: ReadonlyMap<string, LeaseRowAnswer> = new Map(
  ['acked', 'extended', 'released', 'stale'].map((outcome) => [outcome, Object.freeze({ outcome })]),
)

function answerOf(result: LeaseResult): LeaseRowAnswer {
  if (!('error' in result)) return outcomes.get(result.outcome)!
  const { code, message } = result.error
  return { outcome: isRefusal(result.error) ? 'refused' : 'failed', code, detail: message }
}

function refusedRow(row: unknown): LeaseRowAnswer {
  return { outcome: 'refused', code: 'invalid-body', detail: mismatchText(checker.Errors(row), 'the row') }
}
