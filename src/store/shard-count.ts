/**
 * The default number of shards of a new store that several instances share. A large call costs one script or lock for
 * each shard. More instances than this need more shards.
 */
export const DEFAULT_SHARDS = 16

export const MAX_SHARDS = 4096
