import type { Fence } from '../../store.js'
import { int8Array } from './binary-array.js'

/** `$1, $2, …` */
export function placeholders(count: number): string {
  return Array.from({ length: count }, (_, index) => `$${index + 1}`).join(', ')
}

/** A fence as the parameters from `p_shard` to `p_settled_revision`. */
export function fenceParameters({ shard, epoch, nonce, settledLevel }: Fence): number[] {
  return [shard, epoch, nonce, settledLevel.position, settledLevel.revision]
}

/** The fences of several shards as the arrays from `g_shard` to `g_settled_revision`. */
export function fenceColumns(fences: readonly Fence[]): Buffer[] {
  return [
    int8Array(fences, ({ shard }) => shard),
    int8Array(fences, ({ epoch }) => epoch),
    int8Array(fences, ({ nonce }) => nonce),
    int8Array(fences, ({ settledLevel }) => settledLevel.position),
    int8Array(fences, ({ settledLevel }) => settledLevel.revision),
  ]
}
