// A temporary folder in which one combination is tried: a package manager, a version of Node.js, a few packages.
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

/** How each package manager adds packages, strict about engines. `tools` has the paths of its programs. */
const adding = {
  npm: () => ['npm', 'install', '--engine-strict', '--no-audit', '--no-fund'],
  pnpm: (tools) => ['node', tools.pnpm, 'add', '--config.engine-strict=true'],
  yarn1: (tools) => ['node', tools.yarn1, 'add', '--non-interactive'],
  yarn4: (tools) => ['node', tools.yarn4, 'add'],
}

export class Project {
  /** `setup` has the tools, the folders of Node.js by major version, and the time that one step may take. */
  constructor(folder, setup, { manager = 'npm', node, manifest = {} } = {}) {
    this.folder = folder
    this.setup = setup
    this.manager = manager
    const bin = node === undefined ? path.dirname(process.execPath) : setup.nodes[node]
    this.environment = {
      ...process.env,
      PATH: `${bin}${path.delimiter}${process.env.PATH}`,
      // Yarn 4 would refuse to write its lock file on a build server.
      YARN_ENABLE_IMMUTABLE_INSTALLS: 'false',
      YARN_ENABLE_TELEMETRY: '0',
    }
    mkdirSync(folder, { recursive: true })
    this.write(
      'package.json',
      JSON.stringify({ name: 'consumer', private: true, type: 'module', ...manifest }),
    )
    if (manager !== 'yarn4') return
    this.write('yarn.lock', '')
    this.write('.yarnrc.yml', 'nodeLinker: node-modules\n')
  }

  write(file, text) {
    writeFileSync(path.join(this.folder, file), text)
  }

  /** Installs packages. Complaints about peers or engines are failures, too. */
  add(...packages) {
    const [command, ...args] = adding[this.manager](this.setup.tools)
    const output = this.run(command, [...args, ...packages])
    const complaint = /^.*(?:ERESOLVE|EBADENGINE|Unsupported engine|engine "node" is incompatible).*$/m.exec(
      output,
    )
    if (complaint) throw new Error(`the installation complains: ${complaint[0].trim()}`)
  }

  /** Runs code in an ES module of the project and returns what it prints. */
  evaluate(code, file = 'program.mjs') {
    this.write(file, code)
    return this.run('node', [file])
  }

  /** Runs a command. Throws if it fails or takes too long. */
  run(command, args, { mayFail = false, environment = {} } = {}) {
    const { status, stdout, stderr, error } = spawnSync(command, args, {
      cwd: this.folder,
      env: { ...this.environment, ...environment },
      encoding: 'utf8',
      timeout: this.setup.stepMs,
      maxBuffer: MAX_OUTPUT_BYTES,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    if (error?.code === 'ETIMEDOUT')
      throw new Error(`${command} took more than ${this.setup.stepMs / 1000} s`)
    if (error) throw error
    if (status !== 0 && !mayFail) {
      const lines = `${stdout}${stderr}`.trim().split('\n').slice(-12).join('\n    ')
      throw new Error(`${command} ${args.slice(0, 3).join(' ')} exits with ${status}:\n    ${lines}`)
    }
    return stdout + stderr
  }

  remove() {
    rmSync(this.folder, { recursive: true, force: true })
  }
}
