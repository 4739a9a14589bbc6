import { Code, Notice } from '../../ui/basics.tsx'
import { ask } from '../../ui/dialog.tsx'
import { later } from '../../state/clock.ts'

/** Shows a secret that the server never shows again. */
export function shownOnce(title: string, text: string, secret: string): void {
  // The dialog that asked for it closes first.
  later(0, () =>
    ask({
      title,
      body: (
        <>
          <Notice tone="warn">{text} It is shown only now.</Notice>
          <Code text={secret} what="the secret" />
        </>
      ),
      action: 'I have copied it',
      run: async () => undefined,
    }),
  )
}
