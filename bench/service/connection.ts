import { Client, type Dispatcher } from 'undici'

/** The address of a server, and its API key. */
export interface Served {
  readonly url: string
  readonly token: string
}

/** One connection to a server, with one request at a time. Counts unexpected responses. */
export class Connection {
  refused = 0
  readonly #client: Client
  readonly #headers: Record<string, string>

  constructor({ url, token }: Served) {
    this.#client = new Client(url, { headersTimeout: 120_000, bodyTimeout: 120_000 })
    this.#headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  }

  /** Sends a request, and reads and discards the response. */
  send(method: Dispatcher.HttpMethod, path: string, body: string | null): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#client.dispatch(this.#request(method, path, body), {
        onRequestStart: () => undefined,
        onResponseStart: (_, status) => this.#note(status),
        onResponseData: () => undefined,
        onResponseEnd: () => resolve(),
        onResponseError: (_, error) => reject(error),
      })
    })
  }

  /** Sends a request and returns the response. */
  async ask(method: Dispatcher.HttpMethod, path: string, body: unknown): Promise<unknown> {
    const { statusCode, body: answer } = await this.#client.request(
      this.#request(method, path, body === undefined ? null : JSON.stringify(body)),
    )
    this.#note(statusCode)
    return await answer.json()
  }

  /** The receipts of due firings. Empty when none became due in time. */
  async lease(kind: string, max: number, waitMs: number): Promise<readonly string[]> {
    const answer = await this.ask('POST', '/v1/leases', { kinds: [kind], max, waitMs })
    const { firings = [] } = answer as { firings?: readonly { readonly receipt: string }[] }
    return firings.map(({ receipt }) => receipt)
  }

  async ack(receipt: string): Promise<void> {
    await this.send('POST', `/v1/leases/${encodeURIComponent(receipt)}/ack`, '{}')
  }

  async close(): Promise<void> {
    await this.#client.close()
  }

  #request(method: Dispatcher.HttpMethod, path: string, body: string | null): Dispatcher.RequestOptions {
    return { path, method, headers: this.#headers, body }
  }

  #note(status: number): void {
    if (status >= 300) this.refused++
  }
}
