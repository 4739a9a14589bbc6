/** What a driver is told to do. */
export type DriverTask = { readonly module: string; readonly url: string } & (
  | {
      readonly what: 'burst'
      readonly n: number
      /** Timers for later that are there while the burst is fired, n at least. */
      readonly future: number
    }
  | { readonly what: 'lateness'; readonly rate: number; readonly seconds: number }
)

/** What a driver tells its parent, and waits until it was heard. */
export type DriverMessage =
  | { readonly say: 'begin' }
  | {
      readonly say: 'end'
      readonly fired: number
      readonly repeats: number
      /** Processor time of the driver between begin and end. */
      readonly cpuUs: number
      readonly figures: Readonly<Record<string, number>>
    }
