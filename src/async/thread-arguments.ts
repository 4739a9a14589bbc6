/** The arguments of Node that say how modules are loaded, with whether their value may be a word of its own. */
const KEPT =
  /^(?:--import|--require|-r|--conditions|-C|--loader|--experimental-loader|--enable-source-maps)(=|$)/
const WITHOUT_VALUE = '--enable-source-maps'

/**
 * The option `execArgv` of a thread. Node refuses to load a file in a thread that inherits `--input-type`, which says what
 * kind of program `--eval` has. So such a process passes its threads only the arguments that concern loading: Node refuses
 * those of V8 in a list that is given. Any other process leaves the option out, and its threads inherit all arguments.
 *
 * Proven by test/async/thread-arguments.test.ts.
 */
export function threadArguments(given: readonly string[] = process.execArgv): { execArgv?: string[] } {
  if (!given.some((argument) => /^--input-type(=|$)/.test(argument))) return {}
  const execArgv: string[] = []
  for (const [at, argument] of given.entries()) {
    if (!KEPT.test(argument)) continue
    execArgv.push(argument)
    const value = given[at + 1]
    if (!argument.includes('=') && argument !== WITHOUT_VALUE && value !== undefined) execArgv.push(value)
  }
  return { execArgv }
}
