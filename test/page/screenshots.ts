import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { Tab } from './browser.js'
import type { PageFixture } from './fixture.js'
import { views } from './views.js'

const folder =
  process.env['CARILLON_SCREENSHOTS'] ?? fileURLToPath(new URL('../../docs/page', import.meta.url))

const small = { type: 'jpeg', quality: 62 } as const

/** Pictures of every view for docs/page.md: `CARILLON_SCREENSHOTS=docs/page npm test -- test/page/page.test.ts`. */
export function screenshots(
  started: () => { readonly browser: Browser; readonly fixture: PageFixture },
): void {
  describe.runIf(process.env['CARILLON_SCREENSHOTS'] !== undefined)('the pictures of the page', () => {
    it.each(['light', 'dark'] as const)('are made of every view in a %s theme', async (theme) => {
      const { browser, fixture } = started()
      mkdirSync(folder, { recursive: true })
      await using tab = await Tab.signedIn(browser, `${fixture.url}/`, fixture.server.token, {
        theme,
        deviceScaleFactor: 0.8,
      })
      for (const [name, path, text] of views) {
        await tab.show(path)
        await tab.sees(text)
        await tab.page.waitForTimeout(150)
        await tab.page.screenshot({ path: `${folder}/${name}-${theme}.jpg`, ...small })
      }
      expect(tab.faults).toEqual([])
      if (theme === 'dark') return
      await using phone = await Tab.signedIn(browser, `${fixture.url}/`, fixture.server.token, {
        width: 375,
        height: 812,
      })
      for (const [name, path] of views.filter(([each]) => each === 'overview' || each === 'timers')) {
        await phone.show(path)
        await phone.page.screenshot({ path: `${folder}/${name}-phone.jpg`, ...small })
      }
    })
  })
}
