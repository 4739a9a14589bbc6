import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { configurationOf } from '../../src/cli/configuration.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

function filesIn(folder: string): string[] {
  return readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
}

/** The variables of `carillon serve` that a text names and that the command line does not know. */
function unknownIn(text: string): string[] {
  const names = new Set(text.match(/\bCARILLON_SERVE_[A-Z_]+\b/g))
  return [...names].filter((name) => {
    try {
      configurationOf({}, { [name]: '' }, undefined)
    } catch (error) {
      return (error as { code?: string }).code === 'unknown-option'
    }
    return false
  })
}

describe('the files of deploy/ and the pages of docs/', () => {
  it('name only variables that carillon serve knows', () => {
    for (const file of [...filesIn('deploy'), ...filesIn('docs')]) {
      expect([file, unknownIn(readFileSync(file, 'utf8'))]).toEqual([file, []])
    }
    expect(unknownIn('CARILLON_SERVE_PROT=1')).toEqual(['CARILLON_SERVE_PROT'])
  })

  it('run without root, by number, and without development packages', () => {
    const read = (file: string): string => readFileSync(path.join(root, 'deploy', file), 'utf8')
    const dockerfile = read('Dockerfile')
    const [, last = ''] = dockerfile.split(/^FROM .*$/m).slice(1)
    expect(dockerfile).toMatch(/npm install --omit=dev .*carillon-\*\.tgz/)
    expect(last).toMatch(/^USER \d+(:\d+)?$/m)
    expect(last).toMatch(/^COPY --from=build \/carillon /m)
    const kubernetes = read('kubernetes/carillon.yaml')
    const [, user] = /^USER (\d+)/m.exec(last)!
    expect(kubernetes).toMatch(/runAsNonRoot: true/)
    expect(kubernetes).toContain(`runAsUser: ${user}`)
  })

  it('scrape metrics with a key, publish a port, and keep the data private', () => {
    const read = (file: string): string => readFileSync(path.join(root, 'deploy', file), 'utf8')
    const kubernetes = read('kubernetes/carillon.yaml')
    expect(kubernetes).not.toContain('prometheus.io/')
    expect(kubernetes).toMatch(/kind: PodMonitor[^]*path: \/metrics[^]*authorization:[^]*credentials:/)
    expect(read('compose.yaml')).toMatch(/ports:\n\s+- '127\.0\.0\.1:7750-7751:7750'/)
    expect(read('systemd/carillon.service')).toMatch(/^UMask=0077$/m)
  })

  it('link only to files that exist', () => {
    for (const file of filesIn('docs').filter((name) => name.endsWith('.md'))) {
      const links = [...readFileSync(file, 'utf8').matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(
        ([, to]) => to!,
      )
      for (const link of links) {
        expect([file, link, existsSync(path.resolve(path.dirname(file), link))]).toEqual([file, link, true])
      }
    }
  })
})
