import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { transformWithOxc } from 'vite'
import { describe, expect, it } from 'vitest'
import { mutants } from './mutants.js'

const src = fileURLToPath(new URL('../../src/', import.meta.url))

// `npm run sim:mutants` finds out whether a seed notices each mutant. This test only checks that the patches still
// apply. A patched file that does not compile would count as noticed, and prove nothing.
describe('the patches of each mutant', () => {
  it.each(mutants.map((mutant) => [mutant.name, mutant.patches] as const))(
    'match src/ once and leave valid TypeScript: %s',
    async (_name, patches) => {
      const patched = new Map<string, string>()
      for (const { file, find, replace } of patches) {
        const source = patched.get(file) ?? readFileSync(src + file, 'utf8')
        expect(source.split(find), `${file}: ${find}`).toHaveLength(2)
        patched.set(
          file,
          source.replace(find, () => replace),
        )
      }
      for (const [file, source] of patched) await transformWithOxc(source, file)
    },
  )
})

it('every mutant has a name of its own', () => {
  const names = mutants.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
})
