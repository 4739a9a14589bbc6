import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { platform } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

// Next to this file, or next to its source if this is the compiled file.
const source = ['shim.c', '../../../../../test/store/power/shim.c']
  .map((file) => fileURLToPath(new URL(file, import.meta.url)))
  .find((file) => existsSync(file))

/** Compiles shim.c into a folder. Returns the path of the library, or why there is none. */
export function compileShim(folder: string): { readonly library: string } | { readonly why: string } {
  if (platform() !== 'linux') return { why: 'the shim works on Linux only' }
  if (source === undefined) return { why: 'shim.c is missing' }
  const library = path.join(folder, 'shim.so')
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl', '-lpthread'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    return { library }
  } catch (error) {
    const text = error instanceof Error ? error.message.split('\n')[0] : String(error)
    return { why: `the C compiler does not build the shim: ${text}` }
  }
}

/** The environment of a process in which the shim watches a folder. */
export function shimEnvironment(
  library: string,
  folder: string,
  files: { readonly faults?: string; readonly record?: string },
): NodeJS.ProcessEnv {
  return {
    ...process.env,
    LD_PRELOAD: library,
    CARILLON_FOLDER: folder,
    ...(files.faults === undefined ? {} : { CARILLON_FAULTS: files.faults }),
    ...(files.record === undefined ? {} : { CARILLON_RECORD: files.record }),
  }
}
