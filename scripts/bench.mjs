// npm run bench [name] [options]: compiles the benches and runs one. Without a name it lists them.
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'
import { run, runnable } from './ready.mjs'

await runnable()
const folder = '.carillon/run/bench'
const [name, ...rest] = process.argv.slice(2)
if (name === undefined || !existsSync(path.join(folder, `${name}.js`))) {
  const names = readdirSync(folder).filter((file) => file.endsWith('.js'))
  process.stderr.write(
    `usage: npm run bench <name> [-- options]\nbenches: ${names.map((n) => n.slice(0, -3)).join(', ')}\n`,
  )
  process.exit(name === undefined ? 0 : 2)
}
run(process.execPath, ['--expose-gc', '--max-old-space-size=12000', path.join(folder, `${name}.js`), ...rest])
