// npm start: installs and builds what is missing, then serves timers over HTTP. Arguments go to `carillon serve`.
// The server runs in this process, so that it gets signals and npm waits for its end.
import process from 'node:process'
import { built } from './ready.mjs'

await built()
process.argv.splice(2, 0, 'serve')
await import('../dist/cli/main.js')
