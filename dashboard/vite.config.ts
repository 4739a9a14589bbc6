import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const folder = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

export default defineConfig({
  root: folder('.'),
  // Relative URLs, so that the page works under any path prefix.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: folder('../.carillon/page'),
    emptyOutDir: true,
    target: ['chrome111', 'firefox115', 'safari16.4'],
    // The content security policy forbids data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'licenses.md' },
  },
})
