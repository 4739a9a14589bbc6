import { networkInterfaces } from 'node:os'

const wildcards = new Set(['0.0.0.0', '::', '[::]'])

/** Where others reach an instance that listens at `url`. Undefined if the machine has no address for them. */
export function peerAddressOf(url: string, host: string): string | undefined {
  if (!wildcards.has(host)) return url
  const outward = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')
  return outward === undefined ? undefined : `http://${outward.address}:${new URL(url).port}`
}
