import { describe, expect, it } from 'vitest'
import { KindFilter } from '../../src/engine/index.js'
import { parseMemberDetails } from '../../src/engine/cluster/member-details.js'

describe('the kinds that a heartbeat publishes', () => {
  it('are those named, or all but those named, in each namespace', () => {
    const filter = KindFilter.parse(
      KindFilter.of([
        { namespace: 'a', only: ['mail'] },
        { namespace: 'b', except: ['mail'] },
        { namespace: 'c', only: [] },
      ]).text,
    )
    const has = (namespace: string): boolean[] => ['mail', 'image'].map((kind) => filter.has(namespace, kind))
    expect(has('a')).toEqual([true, false])
    expect(has('b')).toEqual([false, true])
    expect(has('c')).toEqual([false, false])
    expect(has('__proto__')).toEqual([false, false])
    expect(KindFilter.parse(KindFilter.all.text).has('any', 'kind')).toBe(true)
  })

  it('have the same text in whatever order they were registered', () => {
    const one = KindFilter.of([
      { namespace: 'b', only: ['x', 'y'] },
      { namespace: 'a', only: ['z'] },
    ])
    const other = KindFilter.of([
      { namespace: 'a', only: ['z'] },
      { namespace: 'b', only: ['y', 'x'] },
    ])
    expect(one.text).toBe(other.text)
  })

  it('become whole namespaces if they are too many', () => {
    const only = Array.from({ length: 501 }, (_, index) => `kind-${index}`)
    const filter = KindFilter.of([{ namespace: 'n', only }])
    expect(filter.text.length).toBeLessThan(100)
    expect(filter.has('n', 'kind-7')).toBe(true)
    expect(filter.has('other', 'kind-7')).toBe(false)
    const namespaces = only.map((namespace) => ({ namespace, only: ['x'] }))
    expect(KindFilter.of(namespaces)).toBe(KindFilter.all)
  })

  it('are none in the heartbeat of an older version', () => {
    const details = JSON.stringify({ isFiring: true, life: 'x', protocol: { version: 3, oldest: 0 } })
    expect(parseMemberDetails(details).kinds.has('n', 'mail')).toBe(false)
  })
})
