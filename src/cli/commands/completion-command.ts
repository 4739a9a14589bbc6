import { InvalidInputError, shown } from '../../error/index.js'
import { type Command, exitCodes } from '../command.js'

const shells = { bash: bashScript, zsh: zshScript, fish: fishScript } as const

/** Generates completion scripts from the table of commands. A function, because the table contains this command. */
export function completionOf(commands: () => readonly Command[]): Command {
  return {
    name: 'completion',
    usage: '(bash | zsh | fish)',
    summary: 'Print a script that completes commands and options in a shell.',
    options: {},
    help: [],
    examples: [
      'carillon completion bash > ~/.local/share/bash-completion/completions/carillon',
      'carillon completion zsh > "${fpath[1]}/_carillon"',
      'carillon completion fish > ~/.config/fish/completions/carillon.fish',
    ],
    positionals: [1, 1],
    run: ({ positionals }, terminal) => {
      const [shell = ''] = positionals
      const script = Object.hasOwn(shells, shell) ? shells[shell as keyof typeof shells] : undefined
      if (script === undefined) {
        throw new InvalidInputError(
          'invalid-option',
          `completion takes bash, zsh or fish, got ${shown(shell)}`,
        )
      }
      terminal.out(script(commands()))
      return Promise.resolve(exitCodes.done)
    },
  }
}

function optionsOf({ options }: Command): string[] {
  return [...Object.keys(options), 'help'].map((name) => `--${name}`)
}

function bashScript(commands: readonly Command[]): string {
  const cases = commands.map((command) => `    ${command.name}) words='${optionsOf(command).join(' ')}' ;;`)
  return `# carillon completion bash
_carillon() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${commands.map(({ name }) => name).join(' ')}' -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
    *) words='' ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _carillon carillon
`
}

function zshScript(commands: readonly Command[]): string {
  const names = commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`)
  const cases = commands.map(
    (command) => `    ${command.name}) compadd -- ${optionsOf(command).join(' ')} ;;`,
  )
  return `#compdef carillon
_carillon() {
  local -a commands
  commands=(
${names.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  case "\${words[2]}" in
${cases.join('\n')}
  esac
  _files
}
_carillon "$@"
`
}

function fishScript(commands: readonly Command[]): string {
  const lines = ['# carillon completion fish', 'complete -c carillon -f']
  for (const command of commands) {
    const { name, summary, options } = command
    lines.push(`complete -c carillon -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`)
    for (const option of Object.keys({ ...options, help: true })) {
      const takes = options[option]?.type === 'string' ? ' -r' : ''
      lines.push(
        `complete -c carillon -n ${quoted(`__fish_seen_subcommand_from ${name}`)} -l ${option}${takes} -d ${quoted(helpOf(command, option))}`,
      )
    }
  }
  return `${lines.join('\n')}\n`
}

function helpOf({ help }: Command, option: string): string {
  if (option === 'help') return 'shows the options and examples'
  return help.find(([name]) => name === `--${option}`)?.[1] ?? ''
}

/** Single-quoted, in a form that all three shells read. */
function quoted(words: string): string {
  return `'${words.replace(/'/g, String.raw`'\''`)}'`
}
