/** How many shards a new store that instances share gets. A large call is a script or a lock for each; more instances than this need more. */
export const USUAL_SHARDS = 16

export const MOST_SHARDS = 4096
