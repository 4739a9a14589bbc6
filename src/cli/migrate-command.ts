import { InvalidInputError, shown, StateError } from '../error/index.js'
import { openStore, type StoreSurvey, type Strategy, surveyStore, switchStrategy } from '../store/index.js'
import { type Command, exitCodes } from './command.js'

const text = { type: 'string' as const }
const flag = { type: 'boolean' as const }

/** A step that brings a store to where it is wanted. */
interface Step {
  readonly what: string
  readonly take: () => Promise<void>
}

export const migrate: Command = {
  name: 'migrate',
  usage: '--store … [options]',
  summary: 'Bring a store to the version of this program, or to another strategy.',
  options: { store: text, strategy: text, 'dry-run': flag, json: flag },
  help: [
    ['--store', 'the store; for another strategy no instance may have it open'],
    ['--strategy', 'owned or claim: switches a PostgreSQL store, all its timers stay'],
    ['--dry-run', 'only say what would be done'],
    ['--json', 'answer in JSON'],
    ['', 'Whoever opens a store migrates it as well; this is for doing it at a time of your own.'],
  ],
  examples: [
    'carillon migrate --store postgres://localhost/timers --dry-run',
    'carillon migrate --store postgres://localhost/timers --strategy claim',
  ],
  words: [0, 0],
  run: async ({ values }, terminal) => {
    const { store, strategy, 'dry-run': isDry = false, json } = values
    if (typeof store !== 'string') throw new InvalidInputError('invalid-option', 'name a --store to migrate')
    if (strategy !== undefined && strategy !== 'owned' && strategy !== 'claim') {
      throw new InvalidInputError('invalid-option', `--strategy takes owned or claim, got ${shown(strategy)}`)
    }
    const survey = await surveyStore(store)
    const steps = stepsOf(store, survey, strategy)
    if (isDry !== true) for (const { take } of steps) await take()
    const done = steps.map(({ what }) => what)
    const { version, strategy: found } = survey.format!
    const told = done.length === 0 ? ['nothing to do'] : done.map((what) => (isDry ? `would ${what}` : what))
    terminal.out(
      json === true
        ? `${JSON.stringify({ version, knownVersion: survey.knownVersion, strategy: found, isDryRun: isDry, steps: done })}\n`
        : `version ${version} of ${survey.knownVersion}, strategy ${found}\n${told.join('\n')}\n`,
    )
    return exitCodes.done
  },
}

function stepsOf(store: string, survey: StoreSurvey, strategy: Strategy | undefined): readonly Step[] {
  const { format, knownVersion, heldBy } = survey
  if (heldBy !== undefined) {
    throw new StateError('store-in-use', `the store is open in ${heldBy}: stop it first`)
  }
  if (format === undefined) {
    throw new StateError('store-foreign', 'there is no store to migrate: carillon serve makes a new one')
  }
  if (format.version > knownVersion) {
    throw new StateError(
      'store-newer',
      `the store has version ${format.version}, this program knows ${knownVersion}: upgrade Carillon`,
    )
  }
  const steps: Step[] = []
  if (format.version < knownVersion) {
    const what = `bring it from version ${format.version} to ${knownVersion}`
    steps.push({ what, take: async () => await (await openStore(store)).stop() })
  }
  if (strategy !== undefined && strategy !== format.strategy) {
    const what = `switch it from the strategy ${format.strategy} to ${strategy}`
    steps.push({ what, take: () => switchStrategy(store, strategy) })
  }
  return steps
}
