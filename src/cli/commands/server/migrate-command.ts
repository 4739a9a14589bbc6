import { InvalidInputError, shown, StateError } from '../../../error/index.js'
import type { StoreMode, StoreSurvey } from '../../../store/index.js'
import { type Command, exitCodes, flagOption, stringOption } from '../../command.js'

interface Step {
  readonly description: string
  readonly run: () => Promise<void>
}

export const migrate: Command = {
  name: 'migrate',
  usage: '--store … [options]',
  summary: 'Migrate a store to the version of this program, or to another strategy.',
  options: { store: stringOption, strategy: stringOption, 'dry-run': flagOption, json: flagOption },
  help: [
    ['--store', 'the store; to change its strategy, no instance may have it open'],
    ['--strategy', 'owned or claim: switches a PostgreSQL store and keeps all its timers'],
    ['--dry-run', 'only report what would be done'],
    ['--json', 'print JSON'],
    ['', 'Opening a store migrates it, too. This command lets you choose the time.'],
  ],
  examples: [
    'carillon migrate --store postgres://localhost/timers --dry-run',
    'carillon migrate --store postgres://localhost/timers --strategy claim',
  ],
  positionals: [0, 0],
  run: async ({ values }, terminal) => {
    const { store, strategy, 'dry-run': isDry = false, json } = values
    if (typeof store !== 'string')
      throw new InvalidInputError('invalid-option', 'missing --store: the store to migrate')
    if (strategy !== undefined && strategy !== 'owned' && strategy !== 'claim') {
      throw new InvalidInputError('invalid-option', `--strategy takes owned or claim, got ${shown(strategy)}`)
    }
    const { surveyStore } = await import('../../../store/index.js')
    const survey = await surveyStore(store)
    const steps = stepsOf(store, survey, strategy)
    if (isDry !== true) for (const step of steps) await step.run()
    const done = steps.map(({ description }) => description)
    const { version, strategy: found } = survey.format!
    const lines = done.length === 0 ? ['nothing to do'] : done.map((step) => (isDry ? `would ${step}` : step))
    terminal.out(
      json === true
        ? `${JSON.stringify({ version, knownVersion: survey.knownVersion, strategy: found, isDryRun: isDry, steps: done })}\n`
        : `version ${version} of ${survey.knownVersion}, strategy ${found}\n${lines.join('\n')}\n`,
    )
    return exitCodes.done
  },
}

function stepsOf(store: string, survey: StoreSurvey, strategy: StoreMode | undefined): readonly Step[] {
  const { format, knownVersion, heldBy } = survey
  if (heldBy !== undefined) {
    throw new StateError('store-in-use', `the store is open in ${heldBy}: stop it first`)
  }
  if (format === undefined) {
    throw new StateError('store-foreign', 'there is no store to migrate: carillon serve creates one')
  }
  if (format.version > knownVersion) {
    throw new StateError(
      'store-newer',
      `the store has version ${format.version}, this program knows ${knownVersion}: upgrade Carillon`,
    )
  }
  const steps: Step[] = []
  if (format.version < knownVersion) {
    const description = `migrate it from version ${format.version} to ${knownVersion}`
    steps.push({ description, run: () => migrateByOpening(store) })
  }
  if (strategy !== undefined && strategy !== format.strategy) {
    const description = `switch it from the strategy ${format.strategy} to ${strategy}`
    steps.push({ description, run: () => switchTo(store, strategy) })
  }
  return steps
}

async function migrateByOpening(store: string): Promise<void> {
  const { openStore } = await import('../../../store/index.js')
  await (await openStore(store)).stop()
}

async function switchTo(store: string, strategy: StoreMode): Promise<void> {
  const { switchStrategy } = await import('../../../store/index.js')
  await switchStrategy(store, strategy)
}
