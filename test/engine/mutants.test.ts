import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { mutants } from './mutants.js'

const src = fileURLToPath(new URL('../../src/', import.meta.url))

// Whether they are noticed is what `npm run sim:mutants` finds out; here they must only still mean something.
describe('the mutants', () => {
  it.each(mutants.map((mutant) => [mutant.name, mutant.patches] as const))('%s', (_name, patches) => {
    for (const { file, find } of patches) {
      expect(readFileSync(src + file, 'utf8').split(find), `${file}: ${find}`).toHaveLength(2)
    }
  })
})
