import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { LogLines } from '../../src/cli/log-lines.js'

describe('log lines', () => {
  it('are dropped and counted while the reader of the log does not read', async () => {
    const read: string[] = []
    let goOn: () => void = () => undefined
    const stream = new Writable({
      decodeStrings: false,
      write: (text: string, _encoding, done) => {
        read.push(text)
        goOn = done
      },
    })
    const lines = new LogLines(stream)
    const line = `${JSON.stringify({ level: 30, msg: 'x'.repeat(1000) })}\n`
    for (let written = 0; written < 10_000; written++) lines.write(line)
    expect(stream.writableLength).toBeLessThan(1_100_000)
    while (stream.writableLength > 0) {
      goOn()
      await new Promise((resolve) => process.nextTick(resolve))
    }
    const kept = read.length
    lines.write(line)
    goOn()
    await new Promise((resolve) => process.nextTick(resolve))
    expect(JSON.parse(read[kept]!)).toEqual({
      level: 40,
      msg: `${10_000 - kept} log lines were dropped, because the reader of the log is too slow`,
    })
    expect(read[kept + 1]).toBe(line)
  })
})
