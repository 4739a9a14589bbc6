/** Whether a store needs space for an operation. The others must also work when it is full. */
export function needsSpace({ type }: { readonly type: string }): boolean {
  return type === 'set' || type === 'move'
}
