import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { TestServer } from '../server/test-server.js'

/** What the page may weigh in all, gzipped. */
const MOST_BYTES = 65_000

async function assetsOf(url: string): Promise<readonly string[]> {
  const html = await (await fetch(url)).text()
  return [...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map((match) => match[1]!)
}

describe('the files of the page', () => {
  it('weigh less than 65 kB gzipped in all', async () => {
    await using server = await TestServer.start()
    const assets = await assetsOf(`${server.url}/`)
    expect(assets.length).toBeGreaterThanOrEqual(2)
    let bytes = 0
    for (const path of ['', ...assets]) {
      const body = Buffer.from(await (await fetch(`${server.url}/${path}`)).arrayBuffer())
      bytes += gzipSync(body).length
    }
    expect(bytes).toBeGreaterThan(1000)
    expect(bytes).toBeLessThan(MOST_BYTES)
  })

  it('have relative URLs, so that they load under any path prefix', async () => {
    await using server = await TestServer.start()
    const html = await (await fetch(`${server.url}/`)).text()
    expect(html).not.toMatch(/(?:src|href)="(?:\/|https?:)/)
    expect(html).not.toMatch(/<style|<script(?![^>]*src=)|\son\w+=|style="/)
  })

  it('come with a content security policy that forbids everything but their own', async () => {
    await using server = await TestServer.start()
    const { headers } = await fetch(`${server.url}/`)
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("require-trusted-types-for 'script'")
    expect(policy).not.toMatch(/unsafe|https?:|data:|\*/)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
  })

  it('are kept by browsers for ever if their name has a hash, and checked otherwise', async () => {
    await using server = await TestServer.start()
    const first = await fetch(`${server.url}/`)
    expect(first.headers.get('cache-control')).toBe('no-cache')
    const again = await fetch(`${server.url}/`, {
      headers: { 'if-none-match': first.headers.get('etag') ?? '' },
    })
    expect([again.status, await again.text()]).toEqual([304, ''])
    for (const path of await assetsOf(`${server.url}/`)) {
      const asset = await fetch(`${server.url}/${path}`)
      expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(path).toMatch(/-[\w-]{8}\.(?:js|css|svg)$/)
    }
  })

  it('are sent gzipped to those that take it', async () => {
    await using server = await TestServer.start()

    const [plain, zipped] = [
      await rawBody(server.url, { 'accept-encoding': 'identity' }),
      await rawBody(server.url, { 'accept-encoding': 'gzip' }),
    ]
    expect(gunzipSync(zipped).toString()).toBe(plain.toString())
  })

  it('contain only code under the MIT license besides our own', () => {
    const text = readFileSync(new URL('../../dist/page/licenses.md', import.meta.url), 'utf8')
    const licenses = [...text.matchAll(/^## (\S+) - \S+ \((.+)\)$/gm)].map(
      (match) => `${match[1]}: ${match[2]}`,
    )
    expect(licenses.toSorted()).toEqual(['@preact/signals-core: MIT', '@preact/signals: MIT', 'preact: MIT'])
  })
})

/** The bytes of the page as they were sent: `fetch` would unpack them. */
async function rawBody(url: string, headers: Record<string, string>): Promise<Buffer> {
  return await new Promise((resolve, reject) => {
    get(`${url}/`, { headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve(Buffer.concat(chunks)))
    }).on('error', reject)
  })
}
