import { describe, expect, it } from 'vitest'
import { Receipts } from '../../src/delivery/lease/receipts.js'

describe('receipts', () => {
  it('are unique, with 120 random bits after the name of the instance', () => {
    const receipts = new Receipts('m1')
    const all = Array.from({ length: 10_000 }, () => receipts.next())
    expect(new Set(all.map((receipt) => receipt.slice(3, 13))).size).toBe(all.length)
    for (const receipt of all) expect(receipt).toMatch(/^m1\.[\w-]{20}$/)
  })
})
