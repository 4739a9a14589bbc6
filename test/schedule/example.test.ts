import { describe, expect, it, vi } from 'vitest'

describe('The example examples/schedule', () => {
  it('runs and prints explanations', async () => {
    const lines: string[] = []
    const log = vi.spyOn(console, 'log').mockImplementation((...words) => {
      lines.push(words.join(' '))
    })
    await import('../../examples/schedule.js')
    log.mockRestore()
    const text = lines.join('\n')
    expect(text).toContain('2027-02-29 does not exist: 2027-02-28')
    expect(text).toContain('02:30 does not exist on 2027-03-14 in America/New_York: 03:00')
    expect(text).toContain('4 unchanged, 0 added, 0 moved')
  })
})
