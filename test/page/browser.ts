import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'

const CHROMIUM = process.env['CARILLON_TEST_CHROMIUM'] ?? '/usr/bin/chromium'
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Starts Chromium. As root on Debian it is installed first, if it is missing. */
export async function startBrowser(): Promise<Browser> {
  if (!existsSync(CHROMIUM)) installChromium()
  return await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  })
}

function installChromium(): void {
  const advice = `${CHROMIUM} is missing: install Chromium (Debian: apt-get install chromium) or set CARILLON_TEST_CHROMIUM`
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) throw new Error(advice)
  const install = [
    'apt-get',
    '-o',
    'DPkg::Lock::Timeout=300',
    'install',
    '-y',
    '--no-install-recommends',
    'chromium',
  ]
  try {
    execFileSync(install[0]!, install.slice(1), { stdio: 'ignore' })
  } catch {
    throw new Error(advice)
  }
}

interface OpenOptions {
  readonly width?: number
  readonly height?: number
  readonly theme?: 'light' | 'dark'
  readonly zone?: string
  /** Below 1 for smaller pictures. */
  readonly deviceScaleFactor?: number
  /** The key of the tab's session. */
  readonly token?: string
}

/** A tab that notes everything that a page must not do. */
export class Tab implements AsyncDisposable {
  readonly page: Page
  readonly #context: BrowserContext
  /** Violations of the policy, uncaught errors, dialogs, and requests to other hosts. */
  readonly faults: string[] = []

  private constructor(page: Page, context: BrowserContext, origin: string) {
    this.page = page
    this.#context = context
    page.on('pageerror', (error) => this.faults.push(`error: ${error.message}`))
    page.on('dialog', (dialog) => {
      this.faults.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on('console', (message) => {
      if (/Content Security Policy|TrustedHTML/.test(message.text()))
        this.faults.push(`policy: ${message.text()}`)
    })
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== origin) this.faults.push(`request: ${request.url()}`)
    })
  }

  static async open(
    browser: Browser,
    url: string,
    {
      width = 1280,
      height = 900,
      theme = 'light',
      zone = 'Europe/Berlin',
      token,
      deviceScaleFactor = 1,
    }: OpenOptions = {},
  ): Promise<Tab> {
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: theme,
      timezoneId: zone,
      reducedMotion: 'reduce',
      deviceScaleFactor,
    })
    if (token !== undefined)
      await context.addInitScript((key) => sessionStorage.setItem('carillon-key', key), token)
    const page = await context.newPage()
    page.setDefaultTimeout(30_000)
    const tab = new Tab(page, context, new URL(url).origin)
    await page.goto(url)
    return tab
  }

  /** Opens the page with a key, as if it had been typed into the form of this tab. */
  static async signedIn(
    browser: Browser,
    url: string,
    token: string,
    options: OpenOptions = {},
  ): Promise<Tab> {
    const tab = await Tab.open(browser, url, { ...options, token })
    await tab.page.locator('main h1').waitFor()
    return tab
  }

  /** Goes to a view and waits until it shows its data. */
  async show(view: string): Promise<void> {
    await this.page.evaluate((hash) => (location.hash = hash), `#/${view}`)
    await this.settled()
  }

  /** Waits until the view shows a text. If it does not, the error says what it shows instead. */
  async sees(text: RegExp | string): Promise<void> {
    try {
      await this.page.locator('main').getByText(text).first().waitFor()
    } catch (error) {
      const shown = await this.page.locator('main').innerText()
      throw new Error(`${this.page.url()} does not show ${String(text)}, but: ${shown.slice(0, 1500)}`, {
        cause: error,
      })
    }
  }

  /** Waits until nothing is loading. */
  async settled(): Promise<void> {
    await this.page.locator('main h1').waitFor()
    await this.page.waitForFunction(
      () => document.querySelector('.skeleton, [aria-busy="true"]') === null,
      undefined,
      { polling: 50 },
    )
  }

  /** What axe finds wrong with what is shown now, one line each. */
  async axe(): Promise<readonly string[]> {
    await this.page.evaluate(axeSource)
    return await this.page.evaluate(async () => {
      const { axe } = globalThis as unknown as {
        axe: {
          run: (options: object) => Promise<{
            violations: readonly {
              id: string
              nodes: readonly { target: readonly string[]; failureSummary: string }[]
            }[]
          }>
        }
      }
      const { violations } = await axe.run({ resultTypes: ['violations'] })
      return violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
      )
    })
  }

  /** How far the page is wider than the window. */
  async overflow(): Promise<number> {
    return await this.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close()
  }
}
