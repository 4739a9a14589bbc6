/** The task of a driver. */
export type DriverTask = { readonly module: string; readonly url: string } & (
  | {
      readonly what: 'burst'
      readonly n: number
      /** Timers for later that are in the store during the burst, at least n. */
      readonly future: number
    }
  | { readonly what: 'lateness'; readonly rate: number; readonly seconds: number }
)

/** A message from the driver to its parent. The driver waits for a reply. */
export type DriverMessage =
  | { readonly say: 'begin' }
  | {
      readonly say: 'end'
      readonly fired: number
      readonly repeats: number
      /** Processor time of the driver from begin to end. */
      readonly cpuUs: number
      readonly figures: Readonly<Record<string, number>>
    }
