// npm run check: types, lint, format, unused code and the shape of the package, in that order.
import process from 'node:process'
import { built, run, tool } from './ready.mjs'

const node = process.execPath
const steps = [
  ['types', [tool('typescript', 'bin/tsc'), '-p', 'tsconfig.json']],
  ['lint', [tool('oxlint', 'bin/oxlint'), '--type-aware', '--deny-warnings']],
  ['format', [tool('prettier', 'bin/prettier.cjs'), '--check', '--log-level', 'warn', '.']],
  ['unused code', [tool('knip', 'bin/knip.js')]],
  ['package', [tool('publint', 'src/cli.js'), '--strict']],
]

await built()
for (const [name, args] of steps) {
  process.stderr.write(`check: ${name}\n`)
  run(node, args)
}
process.stderr.write('check: clean\n')
