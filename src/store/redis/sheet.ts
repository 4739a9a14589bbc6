/** Bytes to write on or to read from. Numbers go through the view, which costs a fraction of what the methods of a Buffer do. */
export interface Sheet {
  readonly bytes: Buffer
  readonly view: DataView
}

/** A sheet with whatever its memory held before. */
export function newSheet(size: number): Sheet {
  return sheetOf(Buffer.allocUnsafe(size))
}

/** A sheet of bytes that are there, to read from or to write on. */
export function sheetOf(bytes: Buffer): Sheet {
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length) }
}
