import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startBrowser, Tab } from './browser.js'
import { actions } from './actions.js'
import { hostile, PageFixture } from './fixture.js'
import { views } from './views.js'
import { screenshots } from './screenshots.js'

let browser: Browser
let fixture: PageFixture

beforeAll(async () => {
  ;[browser, fixture] = await Promise.all([startBrowser(), PageFixture.start()])
})

afterAll(async () => {
  await browser.close()
  await fixture[Symbol.asyncDispose]()
})

async function signedIn(
  options: Parameters<typeof Tab.signedIn>[3] = {},
  token = fixture.server.token,
): Promise<Tab> {
  return await Tab.signedIn(browser, `${fixture.url}/`, token, options)
}

describe('the page', () => {
  it.each(['light', 'dark'] as const)(
    'shows every view in a %s theme, within its policy and without an accessibility fault',
    async (theme) => {
      await using tab = await signedIn({ theme })
      const found: string[] = []
      for (const [name, path, text] of views) {
        await tab.show(path)
        await tab.sees(text)
        found.push(...(await tab.axe()).map((fault) => `${name}: ${fault}`))
      }
      expect(found).toEqual([])
      expect(tab.faults).toEqual([])
    },
  )

  it.each([375, 1920])('fits a window of %i px in every view', async (width) => {
    await using tab = await signedIn({ width })
    const wider: string[] = []
    for (const [name, path, text] of views) {
      await tab.show(path)
      await tab.sees(text)
      const pixels = await tab.overflow()
      if (pixels > 0) wider.push(`${name}: ${pixels} px`)
    }
    expect(wider).toEqual([])
  })

  it('signs in with a link once, and the code is gone from the address', async () => {
    const link = fixture.server.server.createSignInLink()
    await using tab = await Tab.open(browser, link)
    await tab.page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(tab.page.url()).not.toContain('code')
    await using second = await Tab.open(browser, link)
    await second.page.getByText('this sign-in link was used').waitFor()
  })

  it('signs in with a key, keeps it in the tab only, and signs out', async () => {
    await using tab = await Tab.open(browser, `${fixture.url}/`)
    await tab.page.getByLabel('API key').fill('ck_wrong')
    await tab.page.keyboard.press('Enter')
    await tab.page.getByText('this key does not exist').waitFor()
    await tab.page.getByLabel('API key').fill(fixture.server.token)
    await tab.page.keyboard.press('Enter')
    await tab.page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(await tab.page.evaluate(() => localStorage.length + document.cookie.length)).toBe(0)
    await tab.page.getByRole('button', { name: 'Sign out' }).click()
    await tab.page.getByLabel('API key').waitFor()
    expect(await tab.page.evaluate(() => sessionStorage.getItem('carillon-key'))).toBeNull()
  })

  it('runs no code from kinds, keys, tags, payloads, notes and reasons, and shows them as text', async () => {
    await using tab = await signedIn()
    await tab.show(`timer/${encodeURIComponent(hostile[0])}/${encodeURIComponent(hostile[1])}`)
    await tab.page.getByRole('button', { name: 'Show', exact: true }).click()
    await tab.page.locator('.json').getByText('globalThis.hacked=1').first().waitFor()
    expect(await tab.page.locator('main h1').textContent()).toBe(hostile[1])
    for (const path of [
      'timers',
      'kinds',
      'overview',
      'dead',
      'activity',
      'activity?tab=history',
      'forecast?over=day',
    ])
      await tab.show(path)
    await tab.show(`dead?kind=broken&reason=`)
    await tab.page.getByRole('button', { name: 'Show the letters' }).first().click()
    await tab.page
      .getByRole('button', { name: /Show the payload of/ })
      .first()
      .click()
    for (const text of hostile) {
      await tab.show(
        `timers?kind=${encodeURIComponent(text)}&tag=${encodeURIComponent(text)}&key=${encodeURIComponent(text)}`,
      )
      await tab.show(`${encodeURIComponent(text)}/${encodeURIComponent(text)}`)
    }
    expect(await tab.page.evaluate(() => (globalThis as { hacked?: number }).hacked)).toBeUndefined()
    expect(tab.faults).toEqual([])
  })

  actions({
    signedIn: async (token) => await signedIn({}, token),
    fixture: () => fixture,
  })
})

screenshots(() => ({ browser, fixture }))
