// The site asks no other host for anything: fonts and search are part of it. test/house/site.test.ts looks for others.
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { sections, sidebarOf } from '../pages.mjs'

const pages = fileURLToPath(new URL('../.pages', import.meta.url))
const exists = (page) => existsSync(path.join(pages, `${page.replace(/README$/, 'index')}.md`))
const first = (text) => sidebarOf(exists).find((section) => section.text === text)?.items[0]?.link ?? '/'

export default {
  title: 'Carillon',
  description: 'A durable timer engine for TypeScript.',
  lang: 'en',
  srcDir: '.pages',
  outDir: 'dist',
  base: process.env.CARILLON_SITE_BASE ?? '/',
  cleanUrls: false,
  lastUpdated: false,
  // Themes whose colours all have enough contrast.
  markdown: { theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' } },
  themeConfig: {
    nav: ['Start', 'Guides', 'Reference', 'Operating', 'Explanation']
      .filter((text) => sections.some((section) => section.text === text))
      .map((text) => ({ text, link: first(text) })),
    sidebar: sidebarOf(exists),
    outline: [2, 3],
    search: { provider: 'local', options: { detailedView: true } },
    docFooter: { prev: 'Previous', next: 'Next' },
  },
}
