import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8')

interface Site {
  readonly sections: readonly {
    readonly text: string
    readonly pages: readonly (readonly [string, string])[]
  }[]
  readonly generated: readonly string[]
  readonly indexed: readonly string[]
  readonly leftOut: readonly string[]
}

const pages = readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .map((file) => file.split(path.sep).join('/'))
  .filter((file) => file.endsWith('.md'))
  .map((file) => file.replace(/\.md$/, ''))

async function siteOf(): Promise<Site> {
  return (await import(new URL('../../site/pages.mjs', import.meta.url).href)) as Site
}

describe('the documentation site', () => {
  it('lists every page of docs/ once, and no page that does not exist', async () => {
    const { sections, generated, indexed, leftOut } = await siteOf()
    const listed = sections.flatMap((section) => section.pages.map(([, page]) => page))
    expect(new Set(listed).size).toBe(listed.length)
    const isUnlisted = (page: string): boolean =>
      [...indexed, ...leftOut].some((folder) => page.startsWith(folder))
    expect(pages.filter((page) => !listed.includes(page) && !isUnlisted(page))).toEqual([])
    expect(listed.filter((page) => !pages.includes(page) && !generated.includes(page))).toEqual([])
  })

  it('has links that lead to pages and to headings in them', () => {
    const dead = pages.flatMap((page) =>
      linksOf(page)
        .filter((link) => !leadsSomewhere(page, link))
        .map((link) => `${page}: ${link}`),
    )
    expect(dead).toEqual([])
    expect(leadsSomewhere('timers', 'stores.md#nowhere')).toBe(false)
    expect(leadsSomewhere('timers', 'nowhere.md')).toBe(false)
  })

  it('begins each page with one title', () => {
    const bad = pages.filter((page) => withoutCode(read(`docs/${page}.md`)).match(/^# .+$/gm)?.length !== 1)
    expect(bad).toEqual([])
  })
})

function linksOf(page: string): string[] {
  const text = withoutCode(read(`docs/${page}.md`))
  return [...text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link]) => link!)
}

function leadsSomewhere(page: string, link: string): boolean {
  const [file = '', heading] = link.split('#')
  const target = file === '' ? `docs/${page}.md` : path.posix.join('docs', path.posix.dirname(page), file)
  if (!existsSync(path.join(root, target))) return false
  return heading === undefined || !target.endsWith('.md') || anchorsOf(read(target)).has(heading)
}

/** The anchors of a page's headings, as GitHub and VitePress make them. */
function anchorsOf(text: string): Set<string> {
  const headings = [...withoutCode(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) => heading!)
  const plain = (heading: string): string =>
    heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '')
  return new Set(
    headings.map((heading) =>
      plain(heading)
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

function withoutCode(text: string): string {
  return text.replaceAll(/^```[^]*?^```$/gm, '')
}
