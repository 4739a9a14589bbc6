import { Type } from '@sinclair/typebox'
import type { Maintenance } from '../maintenance.js'
import { type Route, route } from '../http/route.js'
import { EpochMs } from '../http/schema/schema.js'

const group = 'Maintenance'

export const Job = Type.Object({
  what: Type.Union(['backup', 'compact', 'verify'].map((what) => Type.Literal(what))),
  state: Type.Union(['running', 'done', 'failed'].map((state) => Type.Literal(state))),
  startedAt: EpochMs,
  endedAt: Type.Optional(EpochMs),
  name: Type.Optional(Type.String({ description: "The backup's folder, within the configured one." })),
  bytesBefore: Type.Optional(Type.Integer({ description: "The size of the store's file at the start." })),
  bytes: Type.Optional(Type.Integer({ description: 'The size of the copy, or of the compacted file.' })),
  progress: Type.Optional(
    Type.Object({
      copiedBytes: Type.Optional(Type.Integer()),
      totalBytes: Type.Optional(Type.Integer({ description: 'The most that there is to copy.' })),
      checkedRows: Type.Optional(Type.Integer()),
      totalRows: Type.Optional(Type.Integer({ description: 'About how many rows there are.' })),
    }),
  ),
  found: Type.Optional(
    Type.Object(
      {
        rows: Type.Integer(),
        records: Type.Integer({ description: 'Dead letters, history, settings and requests.' }),
        checksums: Type.Integer({ description: 'How many values had a checksum of Carillon.' }),
        damageCount: Type.Integer(),
        damages: Type.Array(Type.Object({ where: Type.String(), what: Type.String() }), {
          description: 'The first 100 damages.',
        }),
      },
      { description: 'What a verification found.' },
    ),
  ),
  code: Type.Optional(Type.String({ description: 'Why it failed.' })),
  detail: Type.Optional(Type.String()),
})

/** Backup, compaction and verification of a store that is served. */
export function maintenanceRoutes(maintenance: Maintenance): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/backup',
      scope: 'admin',
      spansNamespaces: true,
      group,
      summary: 'Start a backup of a file store, into the folder that `--backup-folder` names.',
      description:
        'It has everything that was acknowledged before the request. The server goes on meanwhile. `GET /v1/maintenance` shows its progress.',
      answer: Job,
      status: 202,
      refusals: [409],
      audit: {
        action: 'backup',
        describe: (_, job) => ({ namespace: null, ...(job?.name !== undefined && { subject: job.name }) }),
      },
      handle: () => maintenance.startBackup(),
    }),
    route({
      method: 'POST',
      path: '/v1/compact',
      scope: 'admin',
      spansNamespaces: true,
      group,
      summary: 'Start a compaction of a file store: free space goes back to the disk.',
      description:
        'The server goes on meanwhile. The disk needs space for a second copy of the file. `GET /v1/maintenance` shows its progress.',
      answer: Job,
      status: 202,
      refusals: [409],
      audit: { action: 'compact', describe: () => ({ namespace: null }) },
      handle: () => maintenance.startCompaction(),
    }),
    route({
      method: 'POST',
      path: '/v1/verify',
      scope: 'admin',
      spansNamespaces: true,
      group,
      summary: 'Start a deep verification: read every row and every checksum of the store.',
      description:
        'It changes nothing, and ends after an hour at the latest. `GET /v1/maintenance` shows its progress and what it found. `GET /v1/verify` only counts.',
      answer: Job,
      status: 202,
      refusals: [409],
      audit: { action: 'verify', describe: () => ({ namespace: null }) },
      handle: () => maintenance.startVerification(),
    }),
    route({
      method: 'GET',
      path: '/v1/maintenance',
      scope: 'read',
      spansNamespaces: true,
      group,
      summary:
        'The last backup, compaction and verification since this instance started, or the running one.',
      answer: Type.Object({ jobs: Type.Array(Job) }),
      handle: () => ({ jobs: [...maintenance.jobs] }),
    }),
  ]
}
