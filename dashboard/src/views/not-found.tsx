import type { JSX } from 'preact'
import { href } from '../state/router.ts'
import { Empty, Heading } from '../ui/basics.tsx'

export function NotFound(): JSX.Element {
  return (
    <>
      <Heading title="Not found" />
      <Empty title="There is no such view.">
        <a href={href(['overview'])}>Go to the overview</a>
      </Empty>
    </>
  )
}
