/** Timers over HTTP. `carillon serve` starts this server from a command line. */
export { newSealKey } from '../delivery/index.js'
export { type ApiKey, ApiKeys, type NewApiKey, type Scope, scopes } from './api-keys.js'
export { AuditLog } from './audit/audit-log.js'
export { faultOfRow } from './monitor/row-check.js'
export { Server } from './server-entry.js'
export { isLoopback, type ServerOptions } from './server-options.js'
export { loadServerPackage } from './server-packages.js'
export { version } from './version.js'
