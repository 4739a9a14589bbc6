import { statfsSync } from 'node:fs'

/** Reads the type, the free space and the size of a folder's file system. Tests pass their own. */
export type FileSystem = (folder: string) => {
  readonly type: number
  readonly freeBytes: number
  /** Unknown if absent. */
  readonly totalBytes?: number
}

export const thisFileSystem: FileSystem = (folder) => {
  const { type, bavail, blocks, bsize } = statfsSync(folder)
  return { type, freeBytes: bavail * bsize, totalBytes: blocks * bsize }
}

// The types of statfs(2) on Linux. Other systems use other numbers, so network disks are not recognised there.
const networkTypes: ReadonlySet<number> = new Set([
  0x6969, // nfs
  0x517b, // smb
  0xfe53_4d42, // smb2
  0xff53_4d42, // cifs
  0x0102_1997, // 9p
  0x00c3_6400, // ceph
  0x5346_414f, // afs
  0x6b41_4653, // kafs
  0x564c, // ncp
  0x7375_7245, // coda
  0x0bd0_0bd0, // lustre
  0x4750_4653, // gpfs
  0x0116_1970, // gfs2
  0x7461_636f, // ocfs2
])

/** Whether the file system is on a network, where locks, memory maps and flushes may not work. */
export function isNetwork(type: number): boolean {
  // Some systems report the type as a signed number.
  return networkTypes.has(type >>> 0)
}
