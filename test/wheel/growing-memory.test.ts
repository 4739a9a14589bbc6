import { afterEach, describe, expect, it } from 'vitest'
import { GrowingMemory } from '../../src/wheel/growing-memory.js'

const host = globalThis as { WebAssembly?: unknown }
const { WebAssembly } = host

afterEach(() => {
  host.WebAssembly = WebAssembly
})

describe.each(['reserved', 'copied'])('GrowingMemory, %s', (way) => {
  it('keeps its contents, is zero beyond them, and can grow to its maximum', () => {
    if (way === 'copied') host.WebAssembly = undefined
    const max = 40 << 20
    const memory = new GrowingMemory(max)
    let filled = 0
    for (let bytes = 1000; bytes <= max; bytes = Math.min(Math.ceil(bytes * 1.3), max)) {
      const words = new Int32Array(memory.grow(bytes))
      expect(words.byteLength).toBeGreaterThanOrEqual(Math.floor(bytes / 4) * 4)
      expect(memory.byteLength).toBe(words.byteLength)
      for (let i = 0; i < filled; i += 977) expect(words[i]).toBe(i + 1)
      for (let i = filled; i < words.length; i += 4099) expect(words[i]).toBe(0)
      for (let i = 0; i < words.length; i++) words[i] = i + 1
      filled = words.length
      if (bytes === max) break
    }
    expect(memory.grow(5)).toBe(memory.grow(max))
    expect(() => memory.grow(max + 1)).toThrow(expect.objectContaining({ code: 'wheel-full' }))
  })

  it('reserves memory without changing its contents', () => {
    if (way === 'copied') host.WebAssembly = undefined
    const memory = new GrowingMemory(40 << 20)
    const before = new Int32Array(memory.grow(100_000)).fill(7)
    const words = new Int32Array(memory.reserve(8 << 20))
    expect(words.length).toBeGreaterThanOrEqual((8 << 20) / 4)
    expect(words.findIndex((word) => word !== 7)).toBe(before.length)
    expect(words.findLastIndex((word) => word !== 0)).toBe(before.length - 1)
    expect(memory.reserve(5)).toBe(words.buffer)
  })
})
