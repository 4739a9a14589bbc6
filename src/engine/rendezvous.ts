/**
 * Which member should own a shard: the one whose hash with it is highest. Every member finds the same answer
 * from the same list, and when one comes or goes only its own shards change hands.
 */
export function ownerOf(shard: number, memberIds: readonly string[]): string | undefined {
  let owner: string | undefined
  let highest = -1
  for (const id of memberIds) {
    const weight = hash(`${shard}/${id}`)
    if (weight > highest || (weight === highest && id > owner!)) {
      owner = id
      highest = weight
    }
  }
  return owner
}

function hash(text: string): number {
  let value = 0x811c_9dc5
  for (let index = 0; index < text.length; index++) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x0100_0193)
  }
  value ^= value >>> 16
  value = Math.imul(value, 0x85eb_ca6b)
  value ^= value >>> 13
  value = Math.imul(value, 0xc2b2_ae35)
  return (value ^ (value >>> 16)) >>> 0
}
