import { type TSchema, Type } from '@sinclair/typebox'
import { ApiKeyBody, QuotaBody } from '../../routes/admin.js'
import { AuditBody } from '../../routes/audit.js'
import { JobBody } from '../../routes/jobs.js'
import { LeaseRow } from '../../routes/lease-batch.js'
import { LeasedFiringBody } from '../../routes/leases.js'
import { Job } from '../../routes/maintenance.js'
import { TargetBody, TargetInput } from '../../routes/targets.js'
import { AckBody, ReleaseBody } from '../schema/lease-schema.js'
import { Problem } from '../problem.js'
import { Schedule, ScheduleGiven } from '../schema/schedule-schema.js'
import {
  BatchAnswer,
  BatchRow,
  CauseBody,
  DeadBody,
  Duration,
  EpochMs,
  HistoryBody,
  Instant,
  MoveBody,
  Retry,
  SetAnswer,
  SetBody,
  SetNewBody,
  TimerBody,
} from '../schema/schema.js'

/** A schema as JSON, for the document. */
export type SchemaJson = Record<string, unknown>

const { $id: _, ...problem } = Problem

/** The schemas that have a name in the document. */
const named: Readonly<Record<string, TSchema>> = Object.freeze({
  Timer: TimerBody,
  TimerInput: SetBody,
  NewTimerInput: SetNewBody,
  TimerSet: SetAnswer,
  MoveInput: MoveBody,
  Retry,
  Schedule,
  ScheduleInput: ScheduleGiven,
  BatchRow,
  BatchAnswer,
  DeadLetter: DeadBody,
  HistoryEntry: HistoryBody,
  Cause: CauseBody,
  Firing: LeasedFiringBody,
  LeaseAck: AckBody,
  LeaseRelease: ReleaseBody,
  LeaseRow,
  Target: TargetBody,
  TargetInput,
  ApiKey: ApiKeyBody,
  Quota: QuotaBody,
  AuditEntry: AuditBody,
  MaintenanceJob: Job,
  BulkJob: JobBody,
  EpochMs,
  Instant,
  Duration,
  Problem: problem,
  Json: Type.Union(
    [
      Type.String(),
      Type.Number(),
      Type.Boolean(),
      Type.Null(),
      Type.Array(Type.Unknown({ 'x-schema': 'Json' })),
      Type.Object({}, { additionalProperties: true }),
    ],
    { description: 'Any JSON value.' },
  ),
})

/**
 * The schemas of the document. What has a name is described once and referred to elsewhere, so that generated clients
 * have one type for it.
 */
export class DocumentSchemas {
  readonly #names = new Map(Object.entries(named).map(([name, schema]) => [textOf(schema), name]))

  /** The named ones. */
  components(): Record<string, SchemaJson> {
    return Object.fromEntries(Object.entries(named).map(([name, schema]) => [name, this.#inner(schema)]))
  }

  /** A schema with references to what has a name. */
  refer(schema: TSchema): SchemaJson {
    const name = (schema['x-schema'] as string | undefined) ?? this.#names.get(textOf(schema))
    if (name === undefined) return this.#inner(schema)
    const { description } = schema
    const isKnown = named[name]?.description === description || description === undefined
    return { $ref: `#/components/schemas/${name}`, ...(!isKnown && { description }) }
  }

  #inner(schema: TSchema): SchemaJson {
    const { wanted: _wanted, 'x-schema': _name, 'x-optional': _optional, ...rest } = schema as SchemaJson
    const { properties, anyOf, items, patternProperties, additionalProperties } = rest
    const each = (schemas: unknown): Record<string, SchemaJson> =>
      Object.fromEntries(
        Object.entries(schemas as Record<string, TSchema>).map(([name, value]) => [name, this.refer(value)]),
      )
    return {
      ...rest,
      ...(properties !== undefined && { properties: each(properties) }),
      ...(patternProperties !== undefined && { patternProperties: each(patternProperties) }),
      ...(anyOf !== undefined && { anyOf: (anyOf as TSchema[]).map((member) => this.refer(member)) }),
      ...(items !== undefined && { items: this.refer(items as TSchema) }),
      ...(typeof additionalProperties === 'object' && {
        additionalProperties: this.refer(additionalProperties as TSchema),
      }),
    }
  }
}

/** The text of a schema, by which equal ones are found. Markers of TypeBox are symbols and not in it. */
function textOf(schema: TSchema): string {
  return JSON.stringify(schema)
}
