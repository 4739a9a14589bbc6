import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(path.join(root, 'docs', 'timers.md'), 'utf8')
const snippets = [...page.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, text]) => text!)

/** Code around a snippet: what it relies on, and the checks after it. */
interface Stage {
  readonly before: string
  readonly after: string
}

/** Timers in memory that record their answers, with a few kinds and an order. */
const setting = `
import assert from 'node:assert/strict'
import { daily, Dead, openTimers, timer, type Timers } from 'carillon'
const remind = timer<{ orderId: string }>('remind')
const digest = timer('digest')
const payload = { orderId: '7' }
const answers: Record<string, unknown[]> = {}
const plain = await openTimers({ store: 'memory:' })
const timers = new Proxy<Timers>(plain, {
  get: (_, name: keyof Timers) => {
    const value: unknown = plain[name]
    if (typeof value !== 'function') return value
    return (...args: unknown[]): unknown => {
      const answer: unknown = value.apply(plain, args)
      if (answer instanceof Promise) void answer.then((given) => (answers[String(name)] ??= []).push(given), () => undefined)
      return answer
    }
  },
})
const until = async (isSo: () => Promise<boolean>): Promise<void> => {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 5))
}
`
const set = `await plain.set(remind, 'order:7', { in: '5m', payload })\n`
const stop = `await plain.stop()\n`

/** Each stage by a text that only its snippet contains. */
const stages: Readonly<Record<string, Stage>> = {
  "import { openTimers, timer } from 'carillon'": {
    before: `const sent: string[] = []
const mail = async (orderId: string, _: { idempotencyKey: string; signal: AbortSignal }) => void sent.push(orderId)\n`,
    after: `await timers.fireNow(remind, 'order:7')
while (sent.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
if (sent[0] !== '7') throw new Error(sent[0])
await timers.stop()\n`,
  },
  'timers.handleMany(digest': {
    before: setting,
    after: `await plain.start()
await plain.setMany(remind, [{ in: 0, payload }])
await plain.setMany(digest, [{ in: 0 }])
await plain.setMany(timer('other'), [{ in: 0 }])
await until(async () => (await plain.list()).items.length === 0)
${stop}`,
  },
  "at: '2027-01-31T09:00:00Z'": {
    before: setting,
    after: `const [first, second, third, fourth] = answers['set'] as { outcome: string; key: string; dueAt: number }[]
assert.deepEqual([first, second, third, fourth].map((each) => each!.outcome), ['set', 'set', 'set', 'set'])
assert.equal(second!.dueAt, Date.UTC(2027, 0, 31, 9))
assert.match(new Date(third!.dueAt).toISOString(), /T0[78]:00:00.000Z$/)
assert.notEqual(fourth!.key, 'order:7')
assert.equal((await plain.list()).items.length, 2)
${stop}`,
  },
  "await timers.move(remind, 'order:7', { in: '1h' })": {
    before: setting + set,
    after: `assert.deepEqual(answers, { move: ['moved'], cancel: ['cancelled'], fireNow: ['unknown'], get: [undefined] })
${stop}`,
  },
  'await timers.setMany(remind, [': {
    before:
      setting +
      `await plain.setMany(remind, Array.from({ length: 250 }, (_, n) => ({ key: \`order:\${n}\`, in: '1h', payload })))\n`,
    after: `assert.deepEqual(answers['moveMany'], [{ found: 2, moved: 2 }])
assert.deepEqual(answers['cancelMany'], [{ found: 250 }])
${stop}`,
  },
  "await timers.get(remind, 'order:7', { timeout: '2s' })": {
    before: setting + set + `const request = new Request('http://localhost')\n`,
    after: `assert.equal((answers['get']![0] as { key: string }).key, 'order:7')
assert.deepEqual(answers['cancelMany'], [{ found: 1, cancelled: 1 }])
${stop}`,
  },
  'const { items, cursor } = await timers.list': {
    before:
      setting + `await plain.set(remind, 'order:7', { at: Date.now() - 1000, payload, tags: ['vip'] })\n`,
    after: `assert.equal(items.length, 1)
assert.equal(cursor, undefined)
assert.equal((answers['forecast']![0] as unknown[]).length, 24)
assert.deepEqual(Object.keys(answers['why']![0] as object).toSorted(), ['causes', 'dead', 'events', 'timer', 'told'])
assert.equal((answers['stats']![0] as { pending: number }).pending, 1)
${stop}`,
  },
  'await timers.redrive([items[0]!.id])': {
    before:
      setting +
      `let isWell = false
plain.handle(remind, () => {
  if (!isWell) throw new Dead('no such order')
})
await plain.start()
await plain.setMany(remind, [{ in: 0, payload }, { in: 0, payload }, { in: 0, payload }])
await until(async () => (await plain.dead()).items.length === 3)
isWell = true\n`,
    after: `assert.deepEqual(
  Object.keys(items[0]!).toSorted(),
  ['attempts', 'diedAt', 'dueAt', 'id', 'key', 'kind', 'payload', 'reason'],
)
assert.deepEqual(answers['redrive'], [{ count: 1, beside: [] }, { count: 2, beside: [] }])
assert.deepEqual(answers['discard'], [0])
${stop}`,
  },
  "await timers.pause(remind, 'order:7')": {
    before: setting + set,
    after: `assert.deepEqual(answers, { pause: ['paused', 'paused', 'paused'], resume: ['resumed'] })
${stop}`,
  },
  'export const handler = async () => {': {
    before: `import { openTimers, timer } from 'carillon'
const remind = timer<{ orderId: string }>('remind')
const sent: string[] = []
const send = (firing: { readonly key: string }) => void sent.push(firing.key)
{
  await using timers = await openTimers({ store: 'file:./timers' })
  await timers.setMany(remind, ['a', 'b', 'c'].map((key) => ({ key, in: 0, payload: { orderId: key } })))
}\n`,
    after: `const drained = await handler()
if (JSON.stringify(drained) !== '{"fired":3,"isCaughtUp":true}') throw new Error(JSON.stringify(drained))
if (sent.toSorted().join() !== 'a,b,c') throw new Error(sent.join())\n`,
  },
  "import { testTimers } from 'carillon/testing'": {
    before: `import assert from 'node:assert/strict'
import { timer, type Timers } from 'carillon'
const trialEnded = timer('trial-ended')
const startTrial = (timers: Timers, user: string) => timers.set(trialEnded, user, { in: '14d' })\n`,
    after: '',
  },
}

let folder = ''

beforeAll(() => {
  mkdirSync(path.join(root, '.carillon'), { recursive: true })
  // Inside the repository, where Node finds the package by its name.
  folder = mkdtempSync(path.join(root, '.carillon', 'timers-page-'))
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

describe('docs/timers.md', () => {
  it('has a stage for each of its snippets, and a snippet for each stage', () => {
    const found = snippets.map((snippet) => stagesOf(snippet))
    expect(found.map((names) => names.length)).toEqual(snippets.map(() => 1))
    expect(found.flat().toSorted()).toEqual(Object.keys(stages).toSorted())
  })

  it('shows code that compiles', () => {
    for (const [index, snippet] of snippets.entries()) {
      const { before, after } = stages[stagesOf(snippet)[0]!]!
      writeFileSync(path.join(folder, `snippet-${index}.ts`), `${before}${snippet}${after}export {}\n`)
    }
    writeFileSync(
      path.join(folder, 'tsconfig.json'),
      JSON.stringify({
        extends: '../../tsconfig.base.json',
        compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
        include: ['*.ts'],
      }),
    )
    const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const { stdout, status } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' })
    expect({ stdout, status }).toEqual({ stdout: '', status: 0 })
  }, 60_000)

  it.each(snippets.map((snippet, index) => [stagesOf(snippet)[0] ?? 'unknown', index] as const))(
    'shows code that runs: %s',
    (_, index) => {
      const cwd = path.join(folder, `run-${index}`)
      mkdirSync(cwd)
      const program = path.join(folder, `snippet-${index}.js`)
      const output = execFileSync(process.execPath, [program], {
        cwd,
        encoding: 'utf8',
        timeout: 30_000,
      })
      expect(output).toBe('')
    },
    40_000,
  )
})

function stagesOf(snippet: string): string[] {
  return Object.keys(stages).filter((text) => snippet.includes(text))
}
