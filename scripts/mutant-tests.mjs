// A configuration of vitest: runs tests with the patches of a mutant. CARILLON_PATCHES names a file with the patches.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { mergeConfig } from 'vitest/config'
import base from '../vitest.config.ts'

const src = fileURLToPath(new URL('../src/', import.meta.url))
const patches = JSON.parse(readFileSync(process.env.CARILLON_PATCHES, 'utf8'))

export default mergeConfig(base, {
  plugins: [
    {
      name: 'mutant',
      enforce: 'pre',
      transform(code, id) {
        const file = path.relative(src, id)
        let patched = code
        for (const { find, replace } of patches.filter((patch) => patch.file === file))
          patched = patched.replace(find, () => replace)
        return patched === code ? undefined : { code: patched, map: null }
      },
    },
  ],
})
