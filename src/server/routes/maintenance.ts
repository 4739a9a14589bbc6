import { Type } from '@sinclair/typebox'
import type { Maintenance } from '../maintenance.js'
import { type Route, route } from '../http/route.js'

const group = 'Maintenance'

const Job = Type.Object({
  what: Type.Union([Type.Literal('backup'), Type.Literal('compact')]),
  state: Type.Union(['running', 'done', 'failed'].map((state) => Type.Literal(state))),
  startedAt: Type.Number(),
  endedAt: Type.Optional(Type.Number()),
  name: Type.Optional(Type.String({ description: "The backup's folder, within the configured one." })),
  bytesBefore: Type.Integer({ description: "The size of the store's file at the start." }),
  bytes: Type.Optional(Type.Integer({ description: 'The size of the copy, or of the compacted file.' })),
  progress: Type.Optional(
    Type.Object({
      copiedBytes: Type.Integer(),
      totalBytes: Type.Integer({ description: 'The most that there is to copy.' }),
    }),
  ),
  code: Type.Optional(Type.String({ description: 'Why it failed.' })),
  detail: Type.Optional(Type.String()),
})

/** Backup and compaction of a file store that is served. */
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
      method: 'GET',
      path: '/v1/maintenance',
      scope: 'read',
      spansNamespaces: true,
      group,
      summary: 'The last backup and the last compaction since this instance started, or the running one.',
      answer: Type.Object({ jobs: Type.Array(Job) }),
      handle: () => ({ jobs: [...maintenance.jobs] }),
    }),
  ]
}
