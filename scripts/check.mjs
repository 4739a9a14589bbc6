// npm run check: checks types, lint, format, unused code and the package, in that order.
import process from 'node:process'
import { built, run, tool } from './ready.mjs'

const node = process.execPath
const steps = [
  { name: 'types', args: [tool('typescript', 'bin/tsc'), '-p', 'tsconfig.json'] },
  { name: 'types of the page', args: [tool('typescript', 'bin/tsc'), '-p', 'dashboard/tsconfig.json'] },
  { name: 'types of its tests', args: [tool('typescript', 'bin/tsc'), '-p', 'test/page/tsconfig.json'] },
  { name: 'lint', args: [tool('oxlint', 'bin/oxlint'), '--type-aware', '--deny-warnings'] },
  { name: 'format', args: [tool('prettier', 'bin/prettier.cjs'), '--check', '--log-level', 'warn', '.'] },
  { name: 'unused code', args: [tool('knip', 'bin/knip.js')] },
  { name: 'package', args: [tool('publint', 'src/cli.js'), '--strict'] },
]

await built()
for (const { name, args } of steps) {
  process.stderr.write(`check: ${name}\n`)
  run(node, args)
}
process.stderr.write('check: clean\n')
