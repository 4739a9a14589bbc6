import { mergeConfig } from 'vitest/config'
import base from '../../../vitest.config.js'

/** What is too long for every run of the suite: `npm run walk`. */
const config = mergeConfig(base, {})
config.test = { ...config.test, include: ['test/schedule/walk/*.walk.ts'], testTimeout: 1_200_000 }

export default config
