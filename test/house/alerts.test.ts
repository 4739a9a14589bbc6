import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { Server } from '../../src/server/index.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8')
const folder = path.join(root, 'deploy/prometheus')
const rules = read('deploy/prometheus/carillon.rules.yaml')
const cases = read('deploy/prometheus/carillon.rules.test.yaml')
const dashboard = read('deploy/grafana/carillon.json')
const page = read('docs/alerts.md')
const alerts = [...rules.matchAll(/^ {6}- alert: (\w+)$/gm)].map(([, name]) => name!)
const hasPromtool = spawnSync('promtool', ['--version']).status === 0

/** Metrics that have no series until something happens, and one of Prometheus itself. */
const absent = ['up', 'carillon_unhandled']

/** The metrics that a text names and that no server has. */
function unknownIn(text: string, metrics: string): string[] {
  const names = new Set(text.match(/\b(?:carillon|process)_[a-z0-9_]+\b/g))
  const known = new Set(
    [...absent, ...metrics.matchAll(/^(\w+)/gm)].map((each) => (typeof each === 'string' ? each : each[1]!)),
  )
  return [...names].filter((name) => !known.has(name))
}

describe('the alerts and the dashboard in deploy/', () => {
  it('use only metrics that a server has', async () => {
    const server = await Server.start({ store: 'memory:', port: 0, auth: false })
    try {
      await fetch(`${server.url}/healthz`)
      const metrics = await (await fetch(`${server.url}/metrics`)).text()
      expect(unknownIn(rules.replaceAll(/^#.*$/gm, ''), metrics)).toEqual([])
      expect(unknownIn(dashboard, metrics)).toEqual([])
      expect(unknownIn('rate(carillon_fired_totals[5m])', metrics)).toEqual(['carillon_fired_totals'])
    } finally {
      await server.stop()
    }
  })

  it('have a section in docs/alerts.md and a case that fires them, each', () => {
    expect(alerts.length).toBeGreaterThan(10)
    const sections = [...page.matchAll(/^## (Carillon\w+)$/gm)].map(([, name]) => name)
    expect(sections).toEqual(alerts)
    const fired = [...cases.matchAll(/alertname="(\w+)"/g)].map(([, name]) => name)
    expect(fired).toEqual(alerts)
  })

  it('are a dashboard with numbered panels, each of which asks for something', () => {
    const { panels } = JSON.parse(dashboard) as {
      panels: { id: number; type: string; targets?: { expr: string }[] }[]
    }
    expect(panels.map(({ id }) => id)).toEqual(panels.map((_, index) => index + 1))
    for (const { type, targets } of panels)
      if (type !== 'row') expect(targets!.every(({ expr }) => expr.includes('job=~"$job"'))).toBe(true)
  })

  it.skipIf(!hasPromtool)(
    'are accepted by promtool, fire in their cases, and do not in the healthy one',
    () => {
      for (const args of [
        ['check', 'rules', 'carillon.rules.yaml'],
        ['test', 'rules', 'carillon.rules.test.yaml'],
      ]) {
        const { stdout, stderr, status } = spawnSync('promtool', args, { cwd: folder, encoding: 'utf8' })
        expect({ args, output: status === 0 ? '' : stdout + stderr }).toEqual({ args, output: '' })
      }
    },
  )
})
