/** The command line, which `main.ts` runs. */
export { carillon } from './carillon.js'
export { type Command, exitCodes, type Terminal } from './command.js'
