import { StateError } from '../error/index.js'

/**
 * The packages that only a server needs, and the driver of its default store. They are optional peer dependencies, so
 * that the library installs without.
 */
const packages = 'fastify@5 @sinclair/typebox@0.34 pino@10 lmdb@3.5'

// On Node.js 20, a package of Fastify's tests needs a pin: its newest version asks for Node.js 22.
const pinForNode20 = 'light-my-request@6.6.0'

const FASTIFY_MAJOR = '5'

/** Loads a package of the server. If it is missing, the error says what to install. */
export async function loadServerPackage<Loaded>(load: () => Promise<Loaded>): Promise<Loaded> {
  try {
    return await load()
  } catch (error) {
    throw missingPackage(error)
  }
}

/** Refuses another major version than the tested one. The peer range cannot say so: npm would refuse to install. */
export function checkFastify(version: string): void {
  if (version.split('.')[0] === FASTIFY_MAJOR) return
  throw new StateError(
    'package-unsupported',
    `a server needs the package fastify in version ${FASTIFY_MAJOR}, but ${version} is installed: npm install fastify@${FASTIFY_MAJOR}`,
  )
}

/** The npm command for everything that a server needs. */
export function installCommand(nodeVersion = process.versions.node): string {
  const isNode20 = Number(nodeVersion.split('.')[0]) < 22
  return `npm install ${packages}${isNode20 ? ` ${pinForNode20}` : ''}`
}

function missingPackage(error: unknown): unknown {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') return error
  const name = /'((?:@sinclair\/typebox|fastify|pino)[^']*)'/.exec(String(message))?.[1]
  if (name === undefined) return error
  return new StateError(
    'package-missing',
    `a server needs the package ${name}, which is not installed: run ${installCommand()}`,
    { cause: error },
  )
}
