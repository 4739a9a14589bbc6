// BullMQ 6 on PostgreSQL: the same jobs as in bullmq.mjs.
import { createPostgresBackend } from 'bullmq'
import { openWith } from './bullmq.mjs'

export async function open(url) {
  return await openWith({ connectionString: url, max: 10, migrate: true }, createPostgresBackend)
}
