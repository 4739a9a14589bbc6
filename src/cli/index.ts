/** The command line. `main.ts` runs it. */
export { carillon } from './carillon.js'
export { type Command, exitCodes, type Terminal } from './command.js'
