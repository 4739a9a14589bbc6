import { Server, type ServerOptions } from '../../src/server/index.js'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read any field of an answer
  readonly body: any
}

/** A server on a free port, and a client with its first key. */
export class TestServer implements AsyncDisposable {
  readonly server: Server
  readonly token: string

  private constructor(server: Server, token: string) {
    this.server = server
    this.token = token
  }

  static async start(options: Partial<ServerOptions> = {}): Promise<TestServer> {
    const server = await Server.start({ store: 'memory:', port: 0, ...options })
    return new TestServer(server, server.firstToken ?? '')
  }

  get url(): string {
    return this.server.url
  }

  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const response = await fetch(this.url + path, {
      method,
      headers: {
        ...(this.token !== '' && { authorization: `Bearer ${this.token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') === true
    const isLines = response.headers.get('content-type')?.includes('ndjson') === true
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson && !isLines ? JSON.parse(text) : text,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop()
  }
}
