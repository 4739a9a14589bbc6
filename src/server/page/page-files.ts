import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

/** A file of the page, as it goes over the network. */
export interface PageFile {
  readonly type: string
  readonly body: Buffer
  readonly gzipped: Buffer
  readonly etag: string
  /** Whether its name contains a hash of its contents, so that browsers may keep it forever. */
  readonly isHashed: boolean
}

// The build puts the page beside the compiled library. Sources that run without compilation find it there, too.
const BUILT = new URL('../../../dist/page/', import.meta.url)

const types: Readonly<Record<string, string>> = Object.freeze({
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
})

let built: ReadonlyMap<string, PageFile> | undefined

/** The files of the page by their path below it; the page itself is ''. Empty if it was not built or not packed. */
export function pageFiles(): ReadonlyMap<string, PageFile> {
  built ??= readFiles(BUILT)
  return built
}

function readFiles(folder: URL): ReadonlyMap<string, PageFile> {
  try {
    const assets = readdirSync(new URL('assets/', folder))
    return new Map([
      ['', fileOf(new URL('index.html', folder), false)],
      ...assets.map((name) => [`assets/${name}`, fileOf(new URL(`assets/${name}`, folder), true)] as const),
    ])
  } catch (error) {
    // A bundled server has no files beside it.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map()
    throw error
  }
}

function fileOf(url: URL, isHashed: boolean): PageFile {
  const body = readFileSync(url)
  const extension = url.pathname.slice(url.pathname.lastIndexOf('.') + 1)
  return {
    type: types[extension] ?? 'application/octet-stream',
    body,
    gzipped: gzipSync(body),
    etag: `"${hash('sha256', body, 'hex').slice(0, 32)}"`,
    isHashed,
  }
}
