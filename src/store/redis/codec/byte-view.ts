/** Bytes to read or write. Numbers go through the DataView: it is several times faster than a Buffer's methods. */
export interface ByteView {
  readonly bytes: Buffer
  readonly view: DataView
}

/** New bytes, not initialized. */
export function newByteView(size: number): ByteView {
  return byteViewOf(Buffer.allocUnsafe(size))
}

/** A view of existing bytes. */
export function byteViewOf(bytes: Buffer): ByteView {
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length) }
}
