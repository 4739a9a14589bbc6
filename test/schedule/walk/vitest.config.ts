import { mergeConfig } from 'vitest/config'
import base from '../../../vitest.config.js'

/** The tests of `npm run walk`, which take too long for every run of the suite. */
const config = mergeConfig(base, {})
config.test = { ...config.test, include: ['test/schedule/walk/*.walk.ts'], testTimeout: 1_200_000 }

export default config
