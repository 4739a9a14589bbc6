import './styles/base.css'
import './styles/layout.css'
import './styles/parts.css'
import './styles/views.css'
import { render } from 'preact'
import { App } from './app.tsx'
import { startFeed } from './state/feed.ts'

render(<App />, document.querySelector('#page')!)
startFeed()
