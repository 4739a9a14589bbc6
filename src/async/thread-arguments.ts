/**
 * The arguments of Node for a thread: those of this process, without `--input-type`. Node refuses to load a file in a
 * thread with that argument, which only says what kind of program `--eval` has.
 */
export function threadArguments(given: readonly string[] = process.execArgv): string[] {
  return given.filter(
    (argument, at) => !/^--input-type(=|$)/.test(argument) && given[at - 1] !== '--input-type',
  )
}
