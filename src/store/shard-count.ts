/** How many shards a new store that instances share gets: enough for each of a dozen to have a fair part of them. */
export const USUAL_SHARDS = 64

export const MOST_SHARDS = 4096
