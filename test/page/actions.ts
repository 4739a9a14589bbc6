import { expect, it } from 'vitest'
import type { Tab } from './browser.js'
import type { PageFixture } from './fixture.js'

interface Parts {
  readonly signedIn: (token?: string) => Promise<Tab>
  readonly fixture: () => PageFixture
}

/** What an operator does with the page, over a real server. */
export function actions({ signedIn, fixture }: Parts): void {
  it('sets the first timer from the page and sees it fire, live', async () => {
    await using tab = await signedIn()
    await tab.show('start')
    await tab.page.getByRole('button', { name: 'Set hello/world' }).click()
    await tab.sees('hello/world fired')
    expect(tab.faults).toEqual([])
  })

  it('sets a timer from a form, moves, pauses, resumes, fires and cancels it', async () => {
    await using tab = await signedIn()
    const { page } = tab
    const button = async (name: string): Promise<void> =>
      await page.getByRole('button', { name, exact: true }).click()
    await tab.show('set')
    await page.getByLabel('Kind').fill('mail')
    await page.getByLabel('Key', { exact: true }).fill('by-hand')
    await page.getByLabel('Due in').fill('2h')
    await page.getByLabel('Payload').fill('{"id":9007199254740993,"small":1}')
    await page.getByLabel('Tags').fill('vip, new')
    await button('Set the timer')
    await tab.sees(/in 1 h 59 min|in 2 h/)
    await button('Show')
    await page.locator('.json-number', { hasText: /^1$/ }).waitFor()
    await button('Move')
    await page.getByLabel('Due in').fill('5h')
    await page.locator('dialog').getByRole('button', { name: 'Move' }).click()
    await tab.sees(/in 4 h 59 min|in 5 h/)
    await button('Pause')
    await page.getByLabel('Note').fill('until the fix is out')
    await page.locator('dialog').getByRole('button', { name: 'Pause' }).click()
    await tab.sees('until the fix is out')
    await button('Resume')
    await tab.sees('waiting')
    await button('Cancel')
    await page.locator('dialog').getByRole('button', { name: 'Keep as it is' }).click()
    expect((await fixture().call('GET', '/v1/timers/mail/by-hand')).state).toBe('waiting')
    await button('Fire now')
    await page.locator('dialog').getByRole('button', { name: 'Fire now' }).click()
    await tab.sees(/Attempt 1 succeeded/)
    await fixture().call('PUT', '/v1/timers/mail/by-hand', { in: '2h' })
    await button('Cancel')
    await page.locator('dialog').getByRole('button', { name: 'Cancel the timer' }).click()
    await tab.sees('Cancelled')
  })

  it('edits a schedule with a preview and a diff, and runs it once without touching it', async () => {
    await using tab = await signedIn()
    const { page } = tab
    await tab.show('set?kind=report&key=digest&from=edit')
    await tab.sees('every day at 02:30 in America/New_York')
    await page.getByLabel('Time of day').fill('04:15')
    await tab.sees('every day at 04:15 in America/New_York')
    await tab.sees('What the change does')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await tab.sees('Next ten occurrences')
    const { dueAt, revision } = await fixture().call('GET', '/v1/timers/report/digest')
    await page.getByRole('button', { name: 'Run once now' }).click()
    await page.locator('dialog').getByRole('button', { name: 'Run once now' }).click()
    await page.getByText('digest runs once now.').waitFor()
    expect(await fixture().call('GET', '/v1/timers/report/digest')).toMatchObject({ dueAt, revision })
  })

  it('stays usable while hostile expressions are typed into the editor of schedules', async () => {
    await using tab = await signedIn()
    const { page } = tab
    await tab.show('set?when=schedule')
    const expression = page.getByLabel('Expression')
    for (const text of ['*/0 * * * *', '0 0 30 2 *', `${'0-59,'.repeat(160)}0 * * * *`, '1 '.repeat(500)]) {
      await expression.fill(text)
      await page.locator('.editor-preview .notice.bad').waitFor()
      expect((await fixture().server.call('GET', '/healthz')).status).toBe(200)
    }
    await page.getByLabel('Schedule', { exact: true }).selectOption('rrule')
    for (const rule of [
      'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31',
      'FREQ=SECONDLY;BYSETPOS=-1;BYYEARDAY=366;BYDAY=MO;BYHOUR=25',
      `FREQ=DAILY;BYSECOND=${Array.from({ length: 60 }, (_, second) => second).join(',')};COUNT=99999999`,
    ]) {
      await page.getByLabel('Rule', { exact: true }).fill(rule)
      await page.locator('.editor-preview .notice.bad').waitFor()
      expect((await fixture().server.call('GET', '/healthz')).status).toBe(200)
    }
    await page.getByLabel('Rule', { exact: true }).fill('FREQ=WEEKLY;BYDAY=MO')
    await page.locator('.editor-preview .in-words').waitFor()
  })

  it('cancels everything that a filter matches, after it has counted it', async () => {
    await using tab = await signedIn()
    const { page } = tab
    const rows = Array.from({ length: 130 }, (_, row) => ({ kind: 'mail', key: `bulk:${row}`, in: '9d' }))
    await fixture().call('POST', '/v1/batch', rows)
    await tab.show('timers?kind=mail&match=prefix&key=bulk:')
    await tab.sees('130 match.')
    await page.getByLabel('Select all timers on this page').check()
    await page.getByRole('button', { name: 'Select everything that matches' }).click()
    await page.locator('.bulk').getByRole('button', { name: 'Cancel' }).click()
    await page.locator('dialog').getByText('130 timers').waitFor()
    await page.locator('dialog').getByRole('button', { name: 'Cancel them' }).click()
    await page.locator('dialog').waitFor({ state: 'hidden' })
    await expect
      .poll(
        async () =>
          (await fixture().call('GET', '/v1/timers/count?kind=mail&keyPrefix=bulk:')).count as number,
      )
      .toBe(0)
  })

  it('redrives one dead letter, and discards the rest of its group', async () => {
    await using tab = await signedIn()
    const { page } = tab
    await fixture().call('PUT', '/v1/targets/broken', { type: 'log' })
    await tab.show('dead?kind=broken')
    await page.getByRole('button', { name: 'Show the letters' }).first().click()
    await page
      .getByRole('button', { name: /^Redrive job:/ })
      .first()
      .click()
    await page.locator('dialog').getByRole('button', { name: 'Redrive' }).click()
    await page.getByText('Redrove 1 dead letter.').waitFor()
    await page.getByRole('button', { name: 'Discard all' }).click()
    await page.locator('dialog').getByRole('button', { name: 'Discard for good' }).click()
    await page.locator('dialog').waitFor({ state: 'hidden' })
    await expect
      .poll(async () => ((await fixture().call('GET', '/v1/dead?kind=broken')).items as unknown[]).length)
      .toBe(0)
  })

  it('copies a link that shows the same list to somebody else', async () => {
    await using tab = await signedIn()
    await tab.show('timer/mail/big')
    await tab.page.getByRole('button', { name: 'Copy the link to this timer' }).click()
    await tab.page.getByText('Copied the link to this timer.').waitFor()
    await tab.show('timers?kind=mail&match=prefix&key=order:0001&tag=vip')
    await tab.sees('order:00010')
    const link = tab.page.url()
    await using other = await signedIn()
    await other.page.goto(link)
    await other.sees('order:00010')
    expect(await other.page.getByLabel('Key text').inputValue()).toBe('order:0001')
    expect(other.faults).toEqual([])
  })

  it('can be used with the keyboard alone', async () => {
    await using tab = await signedIn()
    const { page } = tab
    await tab.show('timer/mail/big')
    await page.keyboard.press('Tab')
    await page.locator(':focus').waitFor()
    await page.getByRole('button', { name: 'Cancel', exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.locator('dialog[open]').waitFor()
    // The focus stays inside, Escape closes, and the focus is back where it was.
    for (let step = 0; step < 6; step++) {
      await page.keyboard.press('Tab')
      const isOutside = await page.evaluate(() => {
        const { activeElement } = document
        return activeElement !== document.body && activeElement?.closest('dialog') === null
      })
      expect(isOutside).toBe(false)
    }
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'hidden' })
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Cancel')
    await page.locator('.side a', { hasText: 'Overview' }).focus()
    await page.keyboard.press('Enter')
    await tab.sees('Overview')
    await page.waitForFunction(() => document.activeElement?.tagName === 'H1')
  })

  it('loads nothing while it is hidden, and catches up when it is seen again', async () => {
    await using tab = await signedIn()
    const { page } = tab
    await tab.show('overview')
    const setHidden = async (isHidden: boolean): Promise<void> =>
      await page.evaluate((hidden) => {
        Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))
      }, isHidden)
    await setHidden(true)
    await page.getByText('Paused', { exact: true }).first().waitFor()
    let requests = 0
    page.on('request', () => requests++)
    // Longer than the views wait between loads.
    await page.waitForTimeout(6000)
    expect(requests).toBe(0)
    await setHidden(false)
    await page.locator('.live.live').waitFor()
    expect(requests).toBeGreaterThan(0)
  })

  it('offers a key that only reads no change, and the server refuses each that it sends', async () => {
    const token = await fixture().keyOf('read')
    await using tab = await signedIn(token)
    const { page } = tab
    await page.getByText('Read-only').waitFor()
    for (const view of [
      'timers',
      'timer/report/digest',
      'schedules?kind=report',
      'kinds',
      'dead',
      'cluster',
    ]) {
      await tab.show(view)
      const names = await page.locator('main button').allTextContents()
      expect(
        names.filter((name) =>
          /^(Cancel|Fire|Move|Pause|Resume|Run|Redrive|Discard|Remove|Drain|Back up)/.test(name),
        ),
      ).toEqual([])
    }
    const changes = fixture().server.server.routes.filter(({ scope }) => scope !== 'read')
    expect(changes.length).toBeGreaterThan(20)
    for (const { method, path } of changes) {
      const url = path.replace('{id}', '000000000000').replace(/\{\w+\}/g, 'x')
      const { status, body } = await fixture().server.call(method, url, undefined, {
        authorization: `Bearer ${token}`,
      })
      expect({ method, path, status, code: body.code }).toEqual({
        method,
        path,
        status: 403,
        code: 'forbidden',
      })
    }
  })

  it('shows a key of one namespace only that namespace', async () => {
    const token = await fixture().keyOf('write', 'tenant')
    await using tab = await signedIn(token)
    await tab.sees(/No timer was set in this namespace yet/)
    await tab.show('timers')
    await tab.sees('No timer is set.')
    await tab.show('cluster')
    await tab.sees('This key is for one namespace.')
    expect(await tab.page.getByLabel('Namespace').count()).toBe(0)
  })
}
