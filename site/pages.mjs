// The pages of the site in their order. A page of docs/ that is on no list here fails test/house/site.test.ts.
export const sections = [
  {
    text: 'Start',
    pages: [
      ['Your first reminder', 'start'],
      ['Installing', 'installing'],
      ['Why Carillon, and when not', 'why'],
      ['Which store, which strategy', 'choosing'],
      ['Going to production', 'production'],
      ['Words', 'glossary'],
    ],
  },
  {
    text: 'Guides',
    pages: [
      ['All guides', 'guides/README'],
      ['Reminders that move', 'guides/reminders'],
      ['Trials that expire', 'guides/trials'],
      ['Birthdays', 'guides/birthdays'],
      ['Billing on the 31st', 'guides/billing'],
      ['Sagas and timeouts', 'guides/sagas'],
      ['Debouncing', 'guides/debouncing'],
      ['Visibility queues', 'guides/visibility-queues'],
      ['Webhooks', 'guides/webhooks'],
      ['Tenants', 'guides/tenants'],
      ['Serverless', 'guides/serverless'],
      ['Tests with virtual time', 'guides/testing'],
      ['Bulk import', 'guides/bulk-import'],
      ['In a transaction of your ORM', 'guides/transactions'],
      ['NestJS', 'guides/nestjs'],
      ['Express and Hono', 'guides/web-frameworks'],
      ['Bun and Deno', 'guides/runtimes'],
    ],
  },
  {
    text: 'Moving from',
    pages: [
      ['Overview', 'migration'],
      ['BullMQ', 'guides/from-bullmq'],
      ['pg-boss', 'guides/from-pg-boss'],
      ['Agenda', 'guides/from-agenda'],
      ['node-schedule', 'guides/from-node-schedule'],
      ['EventBridge Scheduler', 'guides/from-eventbridge'],
    ],
  },
  {
    text: 'Reference',
    pages: [
      ['Timers', 'timers'],
      ['Schedules', 'schedules'],
      ['Stores', 'stores'],
      ['Targets and workers', 'targets'],
      ['Webhooks', 'webhooks'],
      ['Server', 'server'],
      ['Command line', 'command-line'],
      ['Client', 'client'],
      ['Errors', 'errors'],
      ['Limits', 'limits'],
      ['Time', 'time'],
      ['Wheel', 'wheel'],
      ['Cache', 'cache'],
      ['Parallel', 'parallel'],
      ['Store contract', 'store-contract'],
      ['API', 'api/README'],
      ['Changelog', 'changelog'],
    ],
  },
  {
    text: 'Operating',
    pages: [
      ['Deployment', 'deployment'],
      ['Operations', 'operations'],
      ['The web page', 'page'],
      ['Alerts and dashboard', 'alerts'],
      ['Security', 'security'],
      ['Support and versions', 'support'],
    ],
  },
  {
    text: 'Explanation',
    pages: [
      ['Engine', 'engine'],
      ['Protocol and promises', 'protocol'],
      ['Performance', 'performance'],
      ['Simulation', 'simulation'],
      ['Architecture', 'architecture'],
      ['Contributing', 'contributing/README'],
      ['Decisions', 'decisions/README'],
    ],
  },
]

/** Pages that the build makes: they are not in docs/. */
export const generated = ['changelog', 'api/README']

/** Folders whose pages an index page links. */
export const indexed = ['decisions/', 'measurements/', 'api/', 'examples/']

/** Folders of docs/ that are neither in the package nor on the site: their links and pictures work in the repository. */
export const leftOut = ['page/']

/** Only pages that exist, so that the site can be built while a page is missing. */
export function sidebarOf(exists) {
  return sections.map(({ text, pages }) => ({
    text,
    items: pages
      .filter(([, page]) => exists(page))
      .map(([title, page]) => ({ text: title, link: `/${page.replace(/README$/, '')}` })),
  }))
}
