// npm run build: compiles src/ to dist/.
import { built } from './ready.mjs'

await built()
